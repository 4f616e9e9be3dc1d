/**
 * The script of the shop: searches as one types, presses a button without leaving the page, and takes in what has
 * changed. Every page also works without it.
 */
export const shopScript = `
const search = document.querySelector('input[type=search]');
let newest = 0;

async function refresh() {
  const mine = ++newest;
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html');
  if (mine !== newest) return;
  for (const id of ['shop', 'panel']) {
    const [old, now] = [document.getElementById(id), page.getElementById(id)];
    if (now !== null && old.innerHTML !== now.innerHTML) old.replaceWith(now);
  }
}

search.addEventListener('input', () => {
  history.replaceState(null, '', '/search?text=' + encodeURIComponent(search.value));
  refresh();
});

// A page that answers a form cannot be asked for again.
const isStill = document.querySelector('.verdict') !== null;

document.addEventListener('submit', async (event) => {
  if (isStill || event.target.closest('#panel') === null) return;
  event.preventDefault();
  event.submitter.disabled = true;
  await fetch('/press', { method: 'POST', body: new URLSearchParams(new FormData(event.target, event.submitter)), redirect: 'manual' });
  await refresh();
});

async function look() {
  if (!document.hidden && !isStill) await refresh().catch(() => undefined);
  setTimeout(look, document.querySelector('[data-pending]') === null ? 2000 : 300);
}
setTimeout(look, 1000);
`;
