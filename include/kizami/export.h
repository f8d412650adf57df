/* SPDX-License-Identifier: MIT
 * Marks what libkizami.so offers to its users. Everything else is hidden; a test lists the symbols of the library. */
#ifndef KIZAMI_EXPORT_H
#define KIZAMI_EXPORT_H

#if defined(__GNUC__)
#define KIZAMI_API __attribute__((visibility("default")))
#else
#define KIZAMI_API
#endif

#endif /* KIZAMI_EXPORT_H */
