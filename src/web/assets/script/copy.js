// Links that are copied instead of followed: their address, or the text that is there.
document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[data-copy]");
  if (!link || !navigator.clipboard) return;
  event.preventDefault();
  try {
    const answer = link.dataset.copy ? await fetch(link.href) : undefined;
    if (answer && !answer.ok) throw answer;
    await navigator.clipboard.writeText(answer ? await answer.text() : link.href);
    link.textContent = "Copied";
  } catch {
    location.assign(link.href);
  }
});
