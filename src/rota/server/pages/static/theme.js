// Before anything is drawn: the theme that the reader chose, if any; else that of the system.
"use strict";
(() => {
  const chosen = localStorage.getItem("rota-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
