import type { Tab } from './browser.ts';

/** A use of a control, with the words for what the person saw after it, and the seconds until then. */
interface Use {
  readonly control: string;
  readonly saw: string;
  readonly seconds: number;
}

/**
 * Declares in a page `named`, which returns the name of a control: its words without numbers, of a fold the caption
 * of its table, of a form where it leads; and `controls`, which returns all elements that a person can press or send.
 */
const declared = `
  const numberless = (text) => text.replace(/\\d[\\d,.:-]*/g, '#').replace(/\\s+/g, ' ').trim();
  const words = (each) => each.localName === 'summary' ? each.parentElement.querySelector('caption')?.textContent ?? each.textContent : each.textContent;
  const named = (each) => each.localName === 'form'
    ? 'form ' + each.method + ' ' + new URL(each.action).pathname
    : (each.localName === 'summary' ? 'fold ' : 'button ') + (numberless(words(each)) || each.value || each.outerHTML);
  const controls = () => [...document.querySelectorAll('button, input[type=submit], input[type=button], input[type=image], [role=button], [onclick], summary, form')];
`;

/** Returns the first visible button or fold that begins with these words. */
function controlWith(words: string): string {
  const text = JSON.stringify(words);
  return `(() => { ${declared} return controls().find((each) => each.localName !== 'form' && each.textContent.trim().startsWith(${text}) && each.checkVisibility()); })()`;
}

/**
 * A person who opens pages, and uses the mouse and the keyboard. Remembers every control of every page that was open,
 * and which of them were used with a visible result.
 */
export class Person {
  readonly #tab: Tab;
  readonly #seen = new Set<string>();
  readonly #used = new Set<string>();
  readonly uses: Use[] = [];

  /** The longest that a result may take, in milliseconds. */
  readonly #patience: number;

  constructor(tab: Tab, patience = 20_000) {
    this.#tab = tab;
    this.#patience = patience;
  }

  async open(url: string | URL): Promise<void> {
    await this.#tab.open(String(url));
    await this.#look();
  }

  /** Puts the focus into a field by clicking it, and types. */
  async type(field: string, text: string): Promise<void> {
    await this.#tab.click(`document.querySelector(${JSON.stringify(field)})`);
    await this.#tab.type(text);
  }

  /**
   * Clicks a button or a fold by its words. Throws unless the person then sees the result: an expression that is not true
   * before. `whilePressed` happens before the mouse is released.
   */
  async click(words: string, saw: string, result: string, whilePressed?: () => Promise<unknown>): Promise<void> {
    const names = await this.#tab.value<string[]>(
      `(() => { ${declared} const each = ${controlWith(words)}; return [each, each?.form].filter(Boolean).map(named); })()`,
    );
    await this.#use(words, names, saw, result, () => this.#tab.click(controlWith(words), whilePressed));
  }

  /** Sends the form of the field that has the focus, by the key Enter. Throws as `click` does. */
  async enter(form: string, saw: string, result: string): Promise<void> {
    await this.#use(form, [form], saw, result, () => this.#tab.pressEnter());
  }

  /** Returns the controls that were on some page, and were never used with a result. */
  unused(): string[] {
    return [...this.#seen].filter((each) => !this.#used.has(each)).sort();
  }

  async #use(control: string, names: readonly string[], saw: string, result: string, act: () => Promise<void>) {
    if (await this.#tab.until(result, 0)) throw new Error(`“${saw}” is seen before “${control}” is used`);
    const began = performance.now();
    await act();
    if (!(await this.#tab.until(result, this.#patience)))
      throw new Error(
        `“${control}” was used, and “${saw}” is not seen on ${await this.#tab.value('document.body.innerText')}`,
      );
    this.uses.push({ control, saw, seconds: (performance.now() - began) / 1000 });
    for (const name of names) this.#used.add(name);
    await this.#look();
  }

  async #look(): Promise<void> {
    await this.#tab.until(`document.readyState === 'complete'`);
    const names = await this.#tab.value<string[]>(`(() => { ${declared} return controls().map(named); })()`);
    for (const name of names) this.#seen.add(name);
  }
}
