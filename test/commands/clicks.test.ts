import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser, type Tab } from '../fakes/browser.ts';
import { type DemoShop, startDemoShop } from '../fakes/demo-shop.ts';
import { needs } from '../fakes/needs.ts';
import { Person } from '../fakes/person.ts';
import { someOf } from '../fakes/thorough.ts';

/*
 * Every button and every form of the shop and of the operator's page, used by mouse and keyboard in Chromium. Buttons are
 * found on the pages: one without a test here fails the last one.
 */

describe('the shop and the page, by mouse and keyboard', needs('chromium'), () => {
  const stack = new AsyncDisposableStack();
  let demo: DemoShop;
  let tab: Tab;
  let person: Person;
  let product: string;

  beforeAll(async () => {
    demo = await startDemoShop(stack);
    tab = stack.use(await startBrowser());
    person = new Person(tab);
    product = `${demo.url}product/${demo.product_id}?date=${demo.date}`;
  });
  afterAll(() => stack.disposeAsync());

  const text = (words: string) => `document.querySelector('main').innerText.includes(${JSON.stringify(words)})`;
  const panelHas = (words: string) =>
    `[...document.querySelectorAll('#panel button')].some((each) => each.textContent.startsWith(${JSON.stringify(words)}))`;
  const cell = () => `document.querySelector('[data-date="${demo.date}"]').classList`;
  const price = `document.querySelector('.tickets b').textContent`;
  const images = `document.querySelectorAll('figure').length`;
  const sold = () => demo.sandbox.products().find(({ id }) => id === demo.product_id);

  describe('in the shop', () => {
    it('the search is sent by Enter, and lists what it finds', async () => {
      await person.open(demo.url);
      await person.type('input[type=search]', 'musem');
      await person.enter(
        'form get /search',
        'results for musem',
        `performance.getEntriesByType('navigation')[0].name.endsWith('text=musem') && ${text('“musem”')}`,
      );
    });

    it('a search without results offers cities, and products that can be had', async () => {
      await person.open(`${demo.url}search?text=xyzzyq`);
      expect(await tab.value(text('Nothing found'))).toBe(true);
      expect(await tab.value(`document.querySelectorAll('.cities a').length`)).toBeGreaterThan(0);
      expect(await tab.value(`document.querySelectorAll('.cards a').length`)).toBeGreaterThan(3);
    });

    it('a ticket is checked, and ordered', async () => {
      await person.open(product);
      await person.click('Check', 'Still on sale at this price', text('Still on sale at this price'));
      await person.click('Order', 'Ordered. Enjoy your visit!', text('Ordered. Enjoy your visit!'));
    });

    it('a ticket with another price is checked, and ordered at that', needs('time'), async () => {
      await person.open(product);
      const one = sold();
      if (one === undefined) throw new Error('the product is gone');
      one.price *= 2;
      await person.click('Check', 'The offer has changed', text('The offer has changed'));
      await person.click('Order', 'Ordered. Enjoy your visit!', text('Ordered. Enjoy your visit!'));
    });

    it('a ticket that is sold out meanwhile is refused', async () => {
      await person.open(product);
      sold()?.sold_out.add(demo.date);
      await person.click('Check', 'No longer on sale', text('No longer on sale'));
      sold()?.sold_out.delete(demo.date);
      await demo.reader.check({ product_id: demo.product_id, date: demo.date });
    });
  });

  /** Each button with its undo, and the change of the shop that the person sees. `before` is a figure to compare with. */
  const buttons: readonly [label: string, undo: string, saw: string, before: string | null, result: () => string][] = [
    ['Sell out this date', `Put`, 'the date is sold out', null, () => `${cell()}.contains('sold_out')`],
    ['Raise the price by a fifth', 'Lower the price again', 'another price', price, () => `${price} !== before`],
    ['Withdraw the licence', 'License the image again', 'an image less', images, () => `${images} === before - 1`],
    [
      'Answer everything empty',
      'Answer correctly again',
      'the date is to be checked',
      null,
      () => `${cell()}.contains('check')`,
    ],
    ['Refuse the key', 'Accept the key again', 'the button that undoes it', null, () => 'true'],
    ['Take the service away', 'Bring the service back', 'the button that undoes it', null, () => 'true'],
    ['Close this product', 'Open the product again', 'Not on sale now', null, () => text('Not on sale now')],
  ];

  describe('beside the shop', () => {
    it('the panel stays on the date that a press acted on', async () => {
      await person.open(`${demo.url}product/${demo.product_id}`);
      const date = `document.querySelector('#panel [name=date]').value`;
      const acted = await tab.value<string>(date);
      await person.click(
        'Sell out this date',
        'the date is sold out',
        `document.querySelector('[data-date="${acted}"]').classList.contains('sold_out') && ${panelHas('Put')}`,
      );
      expect(await tab.value(date)).toBe(acted);
      await person.open(`${demo.url}product/${demo.product_id}`);
      expect(await tab.value(date)).toBe(acted);
      await person.click(
        'Put',
        'the date is on sale',
        `document.querySelector('[data-date="${acted}"]').classList.contains('available')`,
      );
    });

    it.each(someOf(buttons))('%s: the shop shows it, and back', async (label, undo, saw, before, result) => {
      await person.open(product);
      const was = before === null ? null : await tab.value(before);
      const changed = `((before) => ${result()})(${JSON.stringify(was)})`;
      await person.click(label, saw, `${changed} && ${panelHas(undo)}`);
      if (saw === 'the button that undoes it') {
        await person.click('Check', 'Nobody can tell at the moment', text('Nobody can tell at the moment'));
        await tab.value('window.asked = true');
        await person.click(
          'Ask again',
          'the answer again',
          `window.asked !== true && ${text('Nobody can tell at the moment')}`,
        );
      }
      // From a page that answers a form too: it leads back to the product.
      await person.click(undo, 'the button that breaks it', panelHas(label));
      expect(await tab.value('location.pathname')).toBe(`/product/${demo.product_id}`);
    });

    it('each button is one of these', async () => {
      await person.open(demo.url);
      const labels = await tab.value<string[]>(
        `[...document.querySelectorAll('#panel button')].map((each) => each.textContent)`,
      );
      expect(labels.filter((label) => !buttons.some(([each]) => label.startsWith(each)))).toEqual([]);
      expect(labels).toHaveLength(buttons.length);
    });

    it('a press counts although the page refreshes itself before the mouse is released', async () => {
      await person.open(product);
      const log = await tab.value<string>(`document.querySelector('#panel pre').textContent`);
      const refreshed = async () => {
        await demo.reader.check({ product_id: demo.product_id, date: demo.date });
        await tab.until(`document.querySelector('#panel pre').textContent !== ${JSON.stringify(log)}`);
      };
      await person.click('Raise the price', 'the button that undoes it', panelHas('Lower the price again'), refreshed);
      await person.click('Lower the price', 'the button that breaks it', panelHas('Raise the price'));
    });

    it('a press that is refused, and one that nothing answers, says so; then the button can be pressed again', async () => {
      await person.open(product);
      const shown = (words: string) =>
        `((message) => message.checkVisibility() && message.textContent.includes(${JSON.stringify(words)}))(document.querySelector('[role=alert]'))`;
      await tab.value(`document.querySelector('#panel [name=product]').value = '999'`);
      await person.click('Sell out this date', 'There is no such product', shown('There is no such product'));
      await tab.send('Network.enable');
      const offline = (is: boolean) =>
        tab.send('Network.emulateNetworkConditions', {
          offline: is,
          latency: 0,
          downloadThroughput: -1,
          uploadThroughput: -1,
        });
      await offline(true);
      await person.click('Sell out this date', 'The demo does not answer', shown('The demo does not answer'));
      await offline(false);
      expect(await tab.until(`!document.querySelector('[role=alert]').checkVisibility()`)).toBe(true);
    });

    it('on a phone the panel is at hand on every page, beside what it changes', async () => {
      await tab.screen('phone');
      const inView = (element: string) =>
        tab.value<boolean>(
          `((box) => box.height > 0 && box.top >= 0 && box.bottom <= innerHeight)(${element}.getBoundingClientRect())`,
        );
      const [link, first] = [`document.querySelector('.to-panel')`, `document.querySelector('#panel button')`];
      for (const url of [demo.url, product]) {
        await person.open(url);
        expect(await inView(link)).toBe(true);
        expect(await inView(first)).toBe(false);
        await tab.click(link);
        expect(await tab.until(`${first}.checkVisibility()`)).toBe(true);
        expect(await tab.value('scrollY')).toBe(0);
        expect(await inView(first)).toBe(true);
      }
      await person.click('Close this product', 'the button that undoes it', panelHas('Open the product again'));
      expect(await tab.until(text('Not on sale now'))).toBe(true);
      expect(await inView(`document.querySelector('#panel h2')`)).toBe(true);
      await tab.value('scrollTo(0, 0)');
      expect(await inView(`document.querySelector('h1')`)).toBe(true);
      await person.click('Open the product again', 'the button that breaks it', panelHas('Close this product'));
      await tab.click(`document.querySelector('.close')`);
      expect(await tab.until(`!${first}.checkVisibility()`)).toBe(true);
      await tab.screen('desk');
    });
  });

  describe('on the page', () => {
    const at = (path: string) => new URL(path, demo.page);
    const heading = (words: string) => `document.querySelector('h1').textContent.includes(${JSON.stringify(words)})`;
    const status = `performance.getEntriesByType('navigation')[0].responseStatus`;

    it('each fold opens', async () => {
      await person.open(at('/?refresh=off'));
      const folds = await tab.value<string[]>(
        `[...document.querySelectorAll('summary')].map((each) => each.textContent.trim())`,
      );
      expect(folds.length).toBeGreaterThan(0);
      for (const fold of folds) {
        const inside = `[...document.querySelectorAll('summary')].find((each) => each.textContent.trim() === ${JSON.stringify(fold)}).nextElementSibling`;
        await person.click(
          fold,
          'what was folded',
          `${inside}.checkVisibility({ contentVisibilityAuto: true }) && ${inside}.getBoundingClientRect().height > 0`,
        );
      }
    });

    it('a product is found by its id, by its words, or not at all', async () => {
      const title = demo.reader.product(demo.product_id)?.title ?? '';
      await person.open(at('/?refresh=off'));
      await person.type('input[type=search]', String(demo.product_id));
      await person.click('Find', title, heading(title));
      await person.open(at('/product'));
      await person.type('input[type=search]', 'tour');
      await person.click('Find', 'Products that match “tour”', heading('Products that match “tour”'));
      await person.open(at('/product'));
      await person.type('input[type=search]', 'xyzzyq');
      await person.click('Find', 'No product matches “xyzzyq”', heading('No product matches “xyzzyq”'));
    });

    it('a resync is chosen, priced and started', async () => {
      await person.open(at('/resync'));
      await tab.click(`document.querySelector('[value=variants]')`);
      await person.click('Show the price', 'its price', heading(' calls, about '));
      // What is away reads nothing, so that the resync is still there to be seen.
      await demo.sandbox.setReachable('no');
      await person.click(
        'Start',
        'the resync under way',
        `/Resync \\d+: Variants/.test(document.querySelector('main').innerText)`,
      );
      expect(await tab.value('location.pathname')).toBe('/');
      await demo.sandbox.setReachable('yes');
    });

    it('a resync of nothing is refused in words, above the form', async () => {
      await person.open(at('/resync'));
      await person.click('Show the price', 'what is missing', `${status} === 400 && ${text('Choose')}`);
      expect(await tab.value(`document.querySelectorAll('form [type=checkbox]').length`)).toBeGreaterThan(3);
    });

    it('a form that is too old is refused in words, above a new one', async () => {
      await person.open(at('/resync?resources=variants'));
      await tab.value(`document.querySelector('[name=token]').value = '1.${'x'.repeat(43)}'`);
      await person.click('Start', 'that it is too old', `${status} === 403 && ${text('too old')}`);
      expect(await tab.value(`document.querySelectorAll('form button').length`)).toBe(1);
    });
  });

  it('leaves no button and no form of these pages unused', needs('time'), () => {
    expect(person.uses.length).toBeGreaterThan(30);
    expect(person.unused()).toEqual([]);
  });
});

describe('a test by clicking', needs('chromium'), () => {
  it('fails for a button that does nothing, and names one that nobody clicks (control)', async () => {
    await using server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<body><p>0</p><button onclick="document.querySelector('p').textContent = 1">Count</button>
<button>Idle</button><button>Other</button><div style="position: relative"><button>Below</button><i style="position: absolute; inset: 0"></i></div>`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await using tab = await startBrowser();
    const person = new Person(tab, 300);
    await person.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await expect(person.click('Idle', '1', `document.body.innerText.includes('1')`)).rejects.toThrow('“Idle” was used');
    await expect(person.click('Below', '1', `document.body.innerText.includes('1')`)).rejects.toThrow('covered by <i');
    await person.click('Count', '1', `document.body.innerText.includes('1')`);
    await expect(person.click('Count', '1', `document.body.innerText.includes('1')`)).rejects.toThrow('before “Count”');
    await expect(person.click('None', '2', 'false')).rejects.toThrow('no such element');
    expect(person.unused()).toEqual(['button Below', 'button Idle', 'button Other']);
  });
});
