import { factColumns } from '../../../src/catalogue/product-texts.store.ts';
import type { Column } from '../../../src/mirror/contract/table.ts';
import { pick } from '../../../src/sandbox/random.ts';
import type { SandboxProduct } from '../../../src/sandbox/world/catalogue.ts';
import { places } from '../../../src/sandbox/world/catalogue.ts';
import type { VirtualHarness } from '../../fakes/virtual-harness.ts';
import { DeliveryList, disabled, notificationOf } from '../../receiver/delivery-list.ts';

type Chance = () => number;
type Writable<Value> = { -readonly [Name in keyof Value]: Value[Name] };
type Product = Writable<SandboxProduct>;

let words = 0;
const word = () => {
  words += 1;
  return `word${words}`;
};
const isoDay = (at: number) => new Date(at).toISOString().slice(0, 10);

/** An image whose members all differ from those of the last one. */
function venueImage(name: string) {
  const at = (size: string) => `https://images.sandbox.invalid/${name}/${size}.jpg`;
  const sizes = { small: at('s'), medium: at('m'), large: at('l'), extra_large: at('xl') };
  return { ...sizes, alt_text: name, credit: name };
}

/** Something that can happen to a product at the service. `restart` ends the daemon and starts it again. */
export type Event = (
  product: Product,
  harness: VirtualHarness,
  chance: Chance,
  restart: (meanwhile?: () => Promise<void>) => Promise<void>,
) => Promise<void> | void;

const edit =
  (
    field: Parameters<VirtualHarness['sandbox']['world']['edit']>[1]['field'],
    value: (chance: Chance) => unknown,
  ): Event =>
  ({ id }, { sandbox }, chance) =>
    sandbox.world.edit(id, { field, value: value(chance) });

/** Five variants of this product's own: answers with ids of another product would be held until a person decides. */
function manyVariants({ id }: SandboxProduct): SandboxProduct['variants'] {
  const types = ['adult', 'child', 'senior', 'student', 'infant'];
  return types.map((type, index) => ({ id: id * 10 + index, label: type, type, factor: 1 - index / 5 }));
}

async function notified(harness: VirtualHarness, product: Product, words_: Record<string, unknown>): Promise<void> {
  const list = new DeliveryList(harness);
  list.post(notificationOf(product.id, disabled(words_)));
  await harness.drive(list.apply());
}

export const events: Readonly<Record<string, Event>> = {
  'dates withheld': (_, { sandbox }) => {
    const product = sandbox.products().find(({ status, withdrawn }) => status === 'available' && !withdrawn);
    const body = '{"success":true,"sales_enabled":false,"dates":[],"variants":[],"groups":[]}';
    sandbox.faults.add({ kind: 'status', status: 200, path: `/${product?.id}/availability`, body });
  },
  'sold out': (product, { clock }, chance) => {
    product.sold_out.add(isoDay(clock.now() + Math.floor(2 + chance() * 6) * 86_400_000));
  },
  closed: (product, { sandbox }, chance) =>
    sandbox.world.disable(product.id, {
      reason: chance() < 0.5 ? 'temporary_closure' : 'out_of_season',
      expected_reopening: chance() < 0.5 ? null : 'within_month',
    }),
  withdrawn: (product) => {
    product.withdrawn = true;
  },
  'offered before its further prices are read': (_, { sandbox }) => {
    for (const product of sandbox.products().slice(-1)) product.withdrawn = false;
    sandbox.faults.add({ kind: 'status', status: 500, path: '/products(/\\d+)?\\?.*currency=USD', times: 12 });
  },
  title: edit('title', (chance) => `Tower ${word()}: ${chance() < 0.5 ? 'Entry' : 'Tour'}`),
  tagline: edit('tagline', word),
  summary: edit('summary', word),
  description: edit('description', word),
  duration: edit('duration', (chance) => `0${1 + Math.floor(chance() * 8)}:00`),
  languages: edit('languages', (chance) => ['en', 'nl', 'fr', 'de'].slice(0, 1 + Math.floor(chance() * 4))),
  must_know: edit('must_know', (chance) => (chance() < 0.2 ? null : word())),
  good_to_know: edit('good_to_know', (chance) => (chance() < 0.2 ? null : word())),
  pre_purchase: edit('pre_purchase', word),
  usage: edit('usage', word),
  included: edit('included', word),
  excluded: edit('excluded', word),
  post_purchase: edit('post_purchase', word),
  tags: edit('tags', (chance) => [600, 601, 602, 603].filter(() => chance() < 0.5)),
  'variants added and gone': (product, { sandbox }, chance) => {
    const value = manyVariants(product).slice(Math.floor(chance() * 3), 3 + Math.floor(chance() * 3));
    sandbox.world.edit(product.id, { field: 'variants', value });
  },
  'variants named': (product, _, chance) => {
    const more = {
      description: word(),
      cancellation: { policy: word(), window: words },
      languages: [word()],
      requires_visitors_details: [word()],
    };
    const group = { id: words, name: word() };
    const named = { label: word(), type: pick(['adult', 'child', 'senior'], chance()), group, more };
    product.variants = product.variants.map((variant) => ({ ...variant, ...named }));
  },
  'groups named': (product) => {
    const name = word();
    product.variants = product.variants.map((variant) => ({ ...variant, group: { id: variant.group?.id ?? 7, name } }));
  },
  // The fourth has a restriction.
  'variants in another order': (_, { sandbox }) => {
    for (const product of sandbox.products())
      product.variants = product.variants.length < 5 ? manyVariants(product) : product.variants.toReversed();
  },
  // The list knows it first.
  price: (product, { sandbox }, chance) => {
    product.price += 50 + Math.floor(chance() * 1000);
    sandbox.faults.add({ kind: 'status', status: 500, path: `/${product.id}\\?`, times: 8 });
  },
  // Each value is another one at every time.
  'a reduced price': (_, { sandbox }) => {
    for (const product of sandbox.products().filter(({ id }) => id % 4 === 0)) product.price += 100;
  },
  'other members': (product) => {
    const count = words + 1;
    const edits: Record<string, unknown> = { ...product.edits, venue: { id: String(product.experience_ids[0]) } };
    // All that pages show as it was sent, each at the path of its declaration.
    for (const { from = '$', type, unit = type } of Object.values<Column>(factColumns)) {
      const [, member = '', inner] = from.split('.');
      const values: Readonly<Record<string, unknown>> = {
        text: word(),
        real: count,
        degrees: count,
        JSON: [word()],
        'JSON array of texts': [word()],
        'JSON array of integers': [count],
        'the service’s identifier': count,
        'http or https': `https://shop.example/${word()}`,
        '0 or 1': count % 2 === 0,
        hours: count,
        minutes: `${count % 1000}:15`,
      };
      edits[member] = inner === undefined ? values[unit] : { ...(edits[member] as object), [inner]: values[unit] };
    }
    product.edits = edits;
  },
  rating: (product, _, chance) => {
    product.rating =
      chance() < 0.2 ? null : { average: Math.round(30 + chance() * 20) / 10, total: Math.floor(chance() * 500) };
  },
  place: (product, _, chance) => {
    const place = pick(places, chance());
    product.place = { ...place, zone: chance() < 0.1 ? null : place.zone };
    product.city_id = 100 + Math.floor(chance() * 2);
    product.country_id = 10 + Math.floor(chance() * 2);
  },
  venue: (product, _, chance) => {
    product.experience_ids = [1, 2, 3, 4]
      .filter(() => chance() < 0.5)
      .concat(5)
      .sort(() => chance() - 0.5);
  },
  experience: (product, { sandbox }, chance) => {
    const [id = 5] = product.experience_ids;
    const text = word();
    sandbox.world.experienceEdits.set(id, {
      title: `Experience ${text}`,
      tagline: text,
      description: text,
      images: [venueImage(text), venueImage(`${text}b`)],
      experience_url: `https://shop.example/${text}`,
      address: { street: text, city_name: text, country_name: text },
      geolocation: { lat: chance() * 80, lng: chance() * 80 },
      ratings: { average: Math.round(30 + chance() * 20) / 10, total: 1 + Math.floor(chance() * 500) },
      from_price: words,
    });
  },
  /** A tag goes, the one that is gone comes back, or one is called otherwise. */
  tag: (_, { sandbox }, chance) => {
    const { tagEdits } = sandbox.world;
    const [gone] = [...tagEdits].find(([, members]) => members === null) ?? [];
    if (gone !== undefined && chance() < 0.5) return void tagEdits.delete(gone);
    const tags = sandbox.world.tags();
    const id = tags[Math.floor(chance() * tags.length)] ?? 0;
    const text = word();
    const members = { name: text, type_name: `type ${text}`, type_group_name: `group ${text}` };
    tagEdits.set(id, gone === undefined && chance() < 0.5 ? null : members);
  },
  'image added': (product) => {
    product.images = [
      ...product.images,
      { name: `${word()}${'0'.repeat(32)}`.slice(0, 32), credit: word(), alt_text: null },
    ];
  },
  'image withdrawn': (product, _, chance) => {
    product.images = chance() < 0.5 ? product.images.slice(0, -1) : product.images.slice(1);
  },
  'image credit': (product) => {
    product.images = product.images.map((image, index) => (index === 0 ? { ...image, credit: word() } : image));
  },
  'image text': (product) => {
    product.images = product.images.map((image, index) => (index === 0 ? { ...image, alt_text: word() } : image));
  },
  'image order': (product) => {
    product.images = product.images.toReversed();
  },
  'image address': (product) => {
    product.images = product.images.map((image) => ({ ...image, origin: `https://${word()}.example` }));
  },
  'closed, announced': async (product, harness, chance) => {
    const others = harness.sandbox.products().filter(({ id }) => id !== product.id);
    const other = others[Math.floor(chance() * others.length)]?.id ?? null;
    harness.sandbox.world.disable(product.id, { reason: 'strike', expected_reopening: 'unknown', alternative: other });
    const said = { reason: word(), expected_reopening: word(), recommended_alternative_product_id: other };
    await notified(harness, product, said);
  },
  'closed, wrongly announced': (product, harness) => notified(harness, product, { reason: word() }),
  slots: (product, _, chance) => {
    product.slots = Math.floor(chance() * 3);
  },
  'prices by the hour': (product) => {
    product.dynamic = !product.dynamic;
  },
  'order limit': (product, _, chance) => {
    product.order_limit = chance() < 0.3 ? null : 1 + Math.floor(chance() * 9);
  },
  open: (product, { sandbox }) => sandbox.world.enable(product.id),
  returned: (_, { sandbox }) => {
    for (const product of sandbox.products()) product.withdrawn = false;
  },
  'sold again': (_, { sandbox }) => {
    for (const { sold_out } of sandbox.products()) sold_out.clear();
  },
  'dates released': (_, { sandbox }) => sandbox.faults.clear(),
};

const emptyDates = '{"success":true,"sales_enabled":true,"dates":[],"variants":[],"groups":[]}';
const venueDays = (now: number) => [-1, 0, 1].map((ahead) => isoDay(now + ahead * 86_400_000));

/** What else happens while readers see less than is stored: closures, holds, times that pass, images that expire. */
export const hiddenEvents: Readonly<Record<string, Event>> = {
  'closed and without dates': ({ id }, { sandbox }) => {
    sandbox.world.disable(id, { reason: 'strike', expected_reopening: null });
    sandbox.faults.add({ kind: 'status', status: 200, path: `/${id}/availability`, body: emptyDates, times: 12 });
  },
  'closed by notification and sold out': async (product, harness) => {
    await notified(harness, product, { reason: word() });
    for (let ahead = 1; ahead < 5; ahead += 1) product.sold_out.add(isoDay(harness.clock.now() + ahead * 86_400_000));
    product.price += 10;
  },
  'all closed by notifications': async (_, harness) => {
    for (const product of harness.sandbox.products()) await notified(harness, product, { reason: word() });
  },
  'all dates withheld': (_, { sandbox }) => {
    const body = '{"success":true,"sales_enabled":false,"dates":[],"variants":[],"groups":[]}';
    sandbox.faults.add({ kind: 'status', status: 200, path: '/availability', body, times: 60 });
  },
  'all dates gone': (_, { sandbox }) => {
    sandbox.faults.add({ kind: 'status', status: 200, path: '/availability', body: emptyDates, times: 60 });
  },
  'today sold out': (product, { clock }) => {
    for (const date of venueDays(clock.now())) product.sold_out.add(date);
  },
  'an evening': async (_, { live }) => live(5 * 3_600_000),
  'many times a day': (_, { sandbox }, chance) => {
    for (const product of sandbox.products()) Object.assign(product, { slots: Math.floor(chance() * 5) });
  },
  'withdrawn for an hour, with other images': async (product, { live }) => {
    product.withdrawn = true;
    await live(3 * 3_600_000);
    product.images = product.images.slice(1).map((image) => ({ ...image, credit: word() }));
    product.price += 100;
    product.withdrawn = false;
  },
  'images expire': (_, { clock, sandbox }, __, restart) =>
    restart(async () => {
      await clock.advance(15 * 86_400_000);
      for (const product of sandbox.products())
        product.images = product.images.slice(1).map((image) => ({ ...image, credit: word() }));
    }),
};
