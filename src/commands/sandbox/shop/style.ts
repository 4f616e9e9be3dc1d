/** The style of the shop and of the panel beside it, for light and dark, wide and narrow screens. */
export const shopStyle = `
:root {
  color-scheme: light dark;
  --ground: #f6f4ef; --card: #fff; --ink: #1c2126; --soft: #5d6770; --line: #e2ddd2; --brand: #0b5d63; --brand-ink: #fff;
  --good: #e2f2e6; --good-ink: #14532d; --wait: #fdf0d0; --wait-ink: #6b4300; --bad: #fbe4e0; --bad-ink: #8c2118; --none: #ebe9e4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171a; --card: #1d2226; --ink: #ebeae6; --soft: #a4adb5; --line: #323a40; --brand: #5cc4c4; --brand-ink: #08282b;
    --good: #16341f; --good-ink: #9be0b0; --wait: #3a2c0c; --wait-ink: #f5cd7d; --bad: #3d1a17; --bad-ink: #ffaea4; --none: #262b30;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; -webkit-text-size-adjust: 100%; }
a { color: var(--brand); text-underline-offset: .15em; }
a:focus-visible, button:focus-visible, input:focus-visible, select:focus-visible { outline: 2px solid var(--brand); outline-offset: 2px; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; padding: .8rem 1.25rem; background: var(--card); border-bottom: 1px solid var(--line); }
header > a { font-weight: 700; font-size: 1.15rem; text-decoration: none; }
header form { flex: 1; max-width: 34rem; }
header input { width: 100%; }
input, select, button { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: .5rem; padding: .4rem .7rem; }
button { background: var(--brand); border-color: var(--brand); color: var(--brand-ink); cursor: pointer; }
.beside { display: grid; grid-template-columns: minmax(0, 1fr) 22rem; max-width: 84rem; margin: 0 auto; align-items: start; }
main { padding: 1rem 1.25rem 3rem; min-width: 0; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .4rem 0 .6rem; }
h2 { font-size: 1.15rem; margin: 1.6rem 0 .6rem; }
.soft, small, figcaption { color: var(--soft); }
.cities, .times { display: flex; flex-wrap: wrap; gap: .4rem; }
.cities a, .times a { padding: .25rem .75rem; border: 1px solid var(--line); border-radius: 2rem; background: var(--card); text-decoration: none; color: inherit; }
.times .chosen { background: var(--brand); border-color: var(--brand); color: var(--brand-ink); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: 1rem; padding: 0; margin: 1rem 0; list-style: none; }
.cards li { position: relative; display: flex; flex-direction: column; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; overflow: hidden; }
.cards a { order: 1; padding: .7rem .9rem 0; color: inherit; font-weight: 600; line-height: 1.3; text-decoration: none; flex: 1; }
.cards a::after { content: ''; position: absolute; inset: 0; }
.cards p { order: 2; display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 .5rem; margin: 0; padding: .3rem .9rem .8rem; font-size: .92rem; }
.cards b { white-space: nowrap; }
figure { position: relative; margin: 0; }
figure img, .no-image { display: block; width: 100%; height: 8.5rem; object-fit: cover; background: var(--none); }
figcaption { position: absolute; right: .4rem; bottom: .35rem; padding: 0 .45rem; border-radius: .3rem; background: #000a; color: #fff; font-size: .72rem; }
.gallery { display: flex; gap: .75rem; overflow-x: auto; padding-bottom: .3rem; }
.gallery figure { flex: 0 0 16rem; border-radius: .75rem; overflow: hidden; }
.gallery img { height: 11rem; }
.notice { padding: .7rem 1rem; border-radius: .6rem; background: var(--wait); color: var(--wait-ink); }
.month { display: flex; gap: .8rem; align-items: center; }
.month a { font-size: 1.5rem; line-height: 1; padding: 0 .4rem; text-decoration: none; }
.calendar { display: grid; grid-template-columns: repeat(7, minmax(0, 1fr)); gap: .25rem; }
.calendar i { font-style: normal; font-size: .8rem; color: var(--soft); text-align: center; }
.calendar > a, .calendar > span { min-height: 3.4rem; padding: .3rem .4rem; border-radius: .45rem; font-size: .76rem; line-height: 1.25; text-decoration: none; overflow-wrap: anywhere; }
.calendar b { display: block; font-size: .95rem; }
.available { background: var(--good); color: var(--good-ink); } .check { background: var(--wait); color: var(--wait-ink); }
.sold_out { background: var(--bad); color: var(--bad-ink); } .not_on_sale { background: var(--none); color: var(--soft); }
.unknown { border: 1px dashed var(--line); color: var(--soft); } .past { color: var(--soft); opacity: .55; }
.calendar .chosen { outline: 3px solid var(--brand); outline-offset: -1px; }
.legend span { display: inline-block; padding: 0 .5rem; border-radius: .3rem; font-size: .8rem; }
.tickets { list-style: none; padding: 0; }
.tickets li { display: grid; grid-template-columns: 1fr auto auto; gap: .3rem 1rem; align-items: center; padding: .5rem 0; border-top: 1px solid var(--line); }
.tickets form { display: flex; gap: .4rem; }
.verdict { padding: .4rem 1.1rem 1.1rem; border-radius: .75rem; max-width: 36rem; background: var(--none); }
.verdict.holds { background: var(--good); } .verdict.changed, .verdict.unknown { background: var(--wait); border: 0; color: inherit; } .verdict.gone { background: var(--bad); }
.verdict h2 { margin-top: .6rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; } dt { color: var(--soft); } dd { margin: 0; font-weight: 600; }
[role=alert] { position: fixed; z-index: 2; top: .8rem; left: 50%; translate: -50%; width: max-content; max-width: calc(100vw - 1.6rem); margin: 0; border: 1px solid; }
.to-panel, .close { display: none; }
aside { position: sticky; top: 0; max-height: 100vh; overflow: auto; padding: 1rem 1.25rem 2rem; border-left: 1px solid var(--line); font-size: .9rem; }
aside h2 { margin: .2rem 0 .3rem; }
aside form { display: grid; gap: .35rem; }
aside p { margin: 0 0 .5rem; font-size: .82rem; line-height: 1.35; }
aside button { width: 100%; text-align: left; background: var(--card); border-color: var(--line); color: inherit; }
aside button.undo { background: var(--wait); color: var(--wait-ink); border-color: transparent; }
aside button:disabled { opacity: .5; cursor: default; }
aside pre { margin: 0; padding: .6rem; border-radius: .5rem; background: var(--none); font-size: .74rem; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 14rem; overflow: auto; }
@media (max-width: 60rem) {
  .beside { grid-template-columns: minmax(0, 1fr); }
  main { padding-bottom: 5rem; }
  .to-panel { display: block; position: fixed; z-index: 1; right: .8rem; bottom: .8rem; padding: .6rem 1.1rem; border-radius: 2rem; background: var(--brand); color: var(--brand-ink); text-decoration: none; box-shadow: 0 .1rem .6rem #0006; }
  aside { display: none; position: fixed; z-index: 1; inset: auto 0 0; max-height: 60vh; border-left: 0; border-top: 2px solid var(--brand); background: var(--card); }
  aside:target { display: block; } body:has(aside:target) main { padding-bottom: 60vh; }
  .close { display: block; float: right; padding: .2rem .6rem; }
}
@media (max-width: 34rem) {
  main, header, aside { padding-left: .8rem; padding-right: .8rem; }
  h1 { font-size: 1.4rem; } header form { flex-basis: 100%; }
  .cards { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .6rem; } .cards p { flex-direction: column; gap: 0; }
  .calendar { gap: .15rem; } .calendar > a, .calendar > span { padding: .2rem; font-size: .62rem; min-height: 3rem; }
  .tickets li { grid-template-columns: 1fr auto; } .tickets form { grid-column: 1 / -1; justify-content: end; }
}
`;
