/** The style of the page, for light and dark, wide and narrow screens. Colours repeat only what the text says too. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #fff; --ink: #16191d; --soft: #545c66; --line: #dfe3e8; --track: #e6e9ee;
  --good: #10693a; --good-ground: #e5f5ec; --bad: #a3190f; --bad-ground: #fdeceb; --wait: #7a4b00; --wait-ground: #fff3dc;
  --busy: #1f4fa3; --busy-ground: #e8f0fd; --bar: #2f6fde; --bar-stale: #d98a00; --bar-expired: #c62b20;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101317; --card: #181c22; --ink: #e9ecf0; --soft: #a3acb8; --line: #2b323b; --track: #2b323b;
    --good: #6fdc9c; --good-ground: #12301f; --bad: #ff9d94; --bad-ground: #3b1614; --wait: #ffcb70; --wait-ground: #362708;
    --busy: #a3c3ff; --busy-ground: #14233f; --bar: #6ea2ff; --bar-stale: #f0ad3d; --bar-expired: #ff7468;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%;
}
header, main, footer { max-width: 74rem; margin: 0 auto; padding: 0 1.25rem; }
header { display: flex; flex-wrap: wrap; gap: .1rem 1rem; align-items: baseline; padding-top: 1.25rem; padding-bottom: .75rem; }
header strong { font-size: 1.05rem; letter-spacing: -.01em; }
header span, footer, .soft, caption { color: var(--soft); }
header span:last-child { margin-left: auto; }
main { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: 1.1rem 1.25rem; min-width: 0; }
.wide { grid-column: 1 / -1; } .column { display: grid; gap: 1rem; align-content: start; min-width: 0; }
h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; letter-spacing: -.02em; }
h2 { margin: 0 0 .5rem; font-size: 1.05rem; letter-spacing: -.01em; }
p { margin: .35rem 0; }
code { font: .92em ui-monospace, monospace; overflow-wrap: anywhere; }
.typed { white-space: nowrap; }
a { color: inherit; text-underline-offset: .15em; }
a:focus-visible { outline: 2px solid var(--bar); outline-offset: 2px; }
.verdict { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem; align-items: center; border-width: 0 0 0 .4rem; padding: 1.25rem; }
.verdict svg { width: 2.6rem; height: 2.6rem; }
.verdict ul, .verdict p { grid-column: 2; margin: .25rem 0 0; }
.verdict ul { padding-left: 0; list-style: none; }
.verdict li { overflow-wrap: anywhere; margin-top: .35rem; } .verdict .todo { display: block; }
.well { background: var(--good-ground); border-color: var(--good); } .well h1, .well > svg { color: var(--good); }
.filling { background: var(--busy-ground); border-color: var(--busy); } .filling h1, .filling > svg { color: var(--busy); }
.warning { background: var(--wait-ground); border-color: var(--wait); } .warning h1, .warning > svg, .warning b { color: var(--wait); }
.error { background: var(--bad-ground); border-color: var(--bad); } .error h1, .error > svg, .error b { color: var(--bad); }
.lead .figures dd { font-size: 1.6rem; } .lead .figures { grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); }
.search { padding: 0; border: 0; background: none; }
a.find { background: var(--card); }
a.find { display: block; max-width: 30rem; padding: .3rem .6rem; border: 1px solid var(--soft); border-radius: .4rem; color: var(--soft); text-decoration: none; }
a.find:hover { color: var(--ink); }
form.find { display: flex; } form.find + table { margin-top: .9rem; } form.find input { flex: 1 1 12rem; min-width: 0; max-width: 30rem; }
.folded { padding-top: .75rem; padding-bottom: .75rem; }
summary { cursor: pointer; } summary h2 { display: inline; margin: 0; font-size: 1rem; font-weight: 600; }
summary:focus-visible { outline: 2px solid var(--bar); outline-offset: 2px; }
details[open] > summary { margin-bottom: .75rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .9rem 1.25rem; margin: 0; }
.figures div { min-width: 0; }
.figures dt { color: var(--soft); font-size: .87rem; }
.figures dd { margin: 0; font-size: 1.3rem; font-weight: 600; letter-spacing: -.01em; line-height: 1.3; }
.figures dd small { display: block; font-size: .82rem; font-weight: 400; color: var(--soft); letter-spacing: 0; }
table { width: 100%; border-collapse: collapse; }
caption { text-align: left; padding-bottom: .5rem; font-size: .9rem; }
th, td { padding: .42rem .6rem; text-align: left; border-top: 1px solid var(--line); vertical-align: middle; }
th:first-child, td:first-child { padding-left: 0; } th:last-child, td:last-child { padding-right: 0; }
thead th { border-top: 0; color: var(--soft); font-size: .82rem; font-weight: 500; white-space: nowrap; }
tbody th { font-weight: 500; overflow-wrap: anywhere; } .said { font-weight: 400; overflow-wrap: break-word; }
.number { text-align: right; white-space: nowrap; }
td svg { display: block; width: 100%; min-width: 5rem; height: .5rem; border-radius: .25rem; background: var(--track); }
.fresh { fill: var(--bar); } .stale { fill: var(--bar-stale); } .expired { fill: var(--bar-expired); }
.strip { height: 1rem; } .strip .watched { fill: var(--good); opacity: .3; }
tbody th code { display: block; color: var(--soft); white-space: nowrap; font-size: .82rem; font-weight: 400; } td:has(.strip) { width: 29%; }
td small { display: block; color: var(--soft); font-size: .82rem; white-space: nowrap; }
td a, th a { white-space: nowrap; } .said a { white-space: normal; font-weight: 600; }
.yes, .no, .some { font-weight: 600; white-space: nowrap; }
.yes { color: var(--good); } .no { color: var(--bad); } .some { color: var(--wait); }
.none { color: var(--soft); }
section > ul { margin: .25rem 0; padding-left: 1.1rem; } section > ul li { overflow-wrap: anywhere; margin: .2rem 0; }
table + p, p + table, ul + table, table + table, table + form, h1 + form, .figures + p { margin-top: .9rem; }
p a + a { margin-left: 1rem; }
header a { text-decoration: none; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.25rem; margin: .75rem 0 0; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; overflow-wrap: anywhere; }
form { display: inline-flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: center; }
form.choice { display: grid; gap: .4rem; justify-items: start; }
.choice label:has([type=checkbox]) { padding-left: 1.6rem; text-indent: -1.6rem; }
input, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--soft); border-radius: .4rem; padding: .3rem .6rem; }
input[type=checkbox] { accent-color: var(--bar); }
button { background: var(--track); cursor: pointer; }
input:focus-visible, button:focus-visible { outline: 2px solid var(--bar); outline-offset: 2px; }
footer { padding-top: 1rem; padding-bottom: 2rem; font-size: .87rem; }
@media (max-width: 62rem) { main { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 44rem) {
  header span:last-child { margin-left: 0; }
  header, main, footer { padding-left: .75rem; padding-right: .75rem; }
  section { padding: .9rem 1rem; } h1 { font-size: 1.4rem; }
  .figures, .lead .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); } .lead .figures dd { font-size: 1.3rem; }
  .figures div:last-child:nth-child(odd) { grid-column: 1 / -1; }
  table, tbody, caption { display: block; } thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  tbody tr { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 1.75rem; padding: .5rem 0; border-top: 1px solid var(--line); }
  form.find label { flex-basis: 100%; }
  .verdict { padding: 1rem; } .verdict ul, .verdict p { grid-column: 1 / -1; } .typed { white-space: normal; }
  tbody th, td:has(svg), td:has(code), td:has(a), td:last-child:nth-child(even) { grid-column: 1 / -1; }
  tbody th, td { display: flex; justify-content: space-between; gap: 1rem; padding: .12rem 0; border: 0; text-align: right; white-space: normal; }
  tbody th { text-align: left; font-weight: 600; }
  td::before { content: attr(data-heading); color: var(--soft); text-align: left; }
  .number { white-space: normal; } td:has(.strip) { width: auto; } td:has(.strip)::before { min-width: 4rem; }
  td > span { min-width: 0; overflow-wrap: anywhere; } td > span:has(svg) { flex: 1; align-self: center; }
}
@media (max-width: 22rem) { .lead .figures dd { font-size: 1.1rem; } }
@media print { body { background: #fff; } section { break-inside: avoid; } }
`;
