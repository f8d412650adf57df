/* SPDX-License-Identifier: MIT
 * What a profiler is to NVTX (NVTX_INJECTION64_PATH): writes the ranges of domain "kizami" to the file KIZAMI_TEST_RANGES,
 * one a line, two spaces a level. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvtx3/nvToolsExt.h>

#define EXPORTED __attribute__((visibility("default")))

enum { kMaxNames = 64 };
static char domain_of_kizami; /* its address is the handle */
static const char* names[kMaxNames];
static int num_names = 0;
static int depth = 0;
static FILE* out = NULL;

static nvtxDomainHandle_t create_domain(const char* name) {
  return strcmp(name, "kizami") == 0 ? (nvtxDomainHandle_t)(void*)&domain_of_kizami : NULL;
}
static nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char* string) {
  if ((void*)domain != (void*)&domain_of_kizami || num_names == kMaxNames) return NULL;
  names[num_names] = string;
  return (nvtxStringHandle_t)(void*)&names[num_names++];
}
static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  if ((void*)domain != (void*)&domain_of_kizami) return 0;
  fprintf(out, "%*s%s\n", 2 * depth, "", *(const char* const*)(const void*)event->message.registered);
  return depth++;
}
static int pop(nvtxDomainHandle_t domain) {
  if ((void*)domain == (void*)&domain_of_kizami && --depth == 0) fflush(out);
  return depth;
}

EXPORTED int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const NvtxExportTableCallbacks* callbacks = (const NvtxExportTableCallbacks*)get_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table;
  unsigned int size = 0;
  const char* path = getenv("KIZAMI_TEST_RANGES");
  if (callbacks == NULL || path == NULL || (out = fopen(path, "a")) == NULL) return 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create_domain;
  *table[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)register_string;
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
  *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
