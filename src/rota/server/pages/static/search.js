// The search of jobs: what the word at the cursor may become.
"use strict";

(() => {
  const field = Rota.find("[data-suggest]");
  if (!field) return;

  // Where the word at the cursor begins and ends. Between quotation marks a space is a letter.
  function word() {
    const at = field.selectionStart, text = field.value;
    let begin = 0, isQuoted = false;
    for (let i = 0; i < at; i += 1) {
      if (text[i] === '"') isQuoted = !isQuoted;
      else if (text[i] === " " && !isQuoted) begin = i + 1;
    }
    let end = at;
    while (end < text.length && (isQuoted || text[end] !== " ")) {
      if (text[end] === '"') isQuoted = !isQuoted;
      end += 1;
    }
    return { begin, end, typed: text.slice(begin, at) };
  }

  const suggestions = Rota.combobox(field, Rota.find("#suggestions"), {
    addressOf: () => `/jobs/suggestions?word=${encodeURIComponent(word().typed)}`,
    choose,
    isFirstMarked: false,
  });

  function choose(option) {
    const { begin, end } = word();
    const value = option.dataset.value, goesOn = value.endsWith(":");
    const after = field.value.slice(end).trimStart();
    const before = field.value.slice(0, begin) + value + (goesOn ? "" : " ");
    field.value = before + after;
    field.setSelectionRange(before.length, before.length);
    if (goesOn) suggestions.look();
    else suggestions.close();
  }

  field.addEventListener("focus", () => { if (!field.value) suggestions.look(); });
  field.addEventListener("blur", suggestions.close);
})();
