// The command palette: Ctrl K or Cmd K, or the button in the navigation.
"use strict";

(() => {
  const dialog = Rota.find("#palette");
  const field = Rota.find("#palette-field");
  if (!dialog) return;

  const choices = Rota.combobox(field, Rota.find("#palette-choices"), {
    addressOf: () => `/palette?q=${encodeURIComponent(field.value)}`,
    choose,
    isFirstMarked: true,
  });

  function choose(option) {
    dialog.close();
    if (option.dataset.href) location.href = option.dataset.href;
    else if (option.dataset.press) Rota.find(option.dataset.press)?.click();
    else Rota.press(option);
  }

  function open() {
    if (Rota.find("dialog[open]")) return;
    field.value = "";
    dialog.showModal();
    choices.look();
  }

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else open();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-palette]")) open();
    else if (event.target === dialog) dialog.close();  // beside it
  });
  document.addEventListener("rota:palette", open);
})();
