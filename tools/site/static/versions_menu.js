// SPDX-License-Identifier: MIT
// The menu of versions: what versions.js, beside the folders of all versions, lists. Without that file the version alone is shown.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector(".kizami-versions");
  if (!place || !window.KIZAMI_VERSIONS || window.KIZAMI_VERSIONS.length < 2) return;
  const root = document.documentElement.dataset.content_root || "./";
  const menu = document.createElement("select");
  menu.setAttribute("aria-label", "version");
  for (const version of window.KIZAMI_VERSIONS) menu.add(new Option(`version ${version}`, version, false, version === place.dataset.current));
  menu.addEventListener("change", () => (location.href = `${root}../${menu.value}/index.html`));
  place.replaceChildren(menu);
});
