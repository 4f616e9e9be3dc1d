import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeNotification, type Notification, type ProductNotice } from '../../src/push/notification.rules.ts';
import { thorough } from '../fakes/thorough.ts';

const delivery = { subscription_id: 'norland', truncated: false };
const decode = (payload: unknown): Notification =>
  decodeNotification(Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)), delivery);
const of = (...changes: unknown[]) => ({ subscription_id: 'norland', products: [{ product_id: 7, changes }] });
const notice = (what: Partial<ProductNotice>): ProductNotice => ({
  product_id: 7,
  closure: null,
  enabled: false,
  updated: false,
  fields: [],
  ...what,
});

describe('a delivery', () => {
  const closed = { reason: 'out_of_season', expected_reopening: 'more_than_month', alternative_product_id: 9 };
  const disabled = {
    change_type: 'checkout_disabled',
    reason_code: 'out_of_season',
    expected_reopening: 'more_than_month',
    recommended_alternative_product_id: 9,
  };
  const update = (field_name: string) => ({ change_type: 'product_details_update', field_name, old_value: 1 });
  const named = (field: string) => ({ field, old_value: 1, new_value: undefined });
  it.each<[string, unknown, ProductNotice[]]>([
    ['closes a product', of(disabled), [notice({ closure: closed })]],
    [
      'names the reason either way',
      of({ ...disabled, reason_code: undefined, reason: 'out_of_season' }),
      [notice({ closure: closed })],
    ],
    [
      'closes without words',
      of({ change_type: 'checkout_disabled' }),
      [notice({ closure: { reason: null, expected_reopening: null, alternative_product_id: null } })],
    ],
    ['opens a product', of({ change_type: 'checkout_enabled' }), [notice({ enabled: true })]],
    [
      'updates fields',
      of(update('description'), update('tags')),
      [notice({ updated: true, fields: [named('description'), named('tags')] })],
    ],
    [
      'says both directions',
      of({ change_type: 'checkout_enabled' }, disabled),
      [notice({ closure: closed, enabled: true })],
    ],
    [
      'names a product twice',
      { products: [...of(disabled).products, ...of(update('title')).products] },
      [notice({ closure: closed, updated: true, fields: [named('title')] })],
    ],
    ['has an id in digits', { products: [{ product_id: '7', changes: [update('x')] }] }, [notice({ updated: true, fields: [named('x')] })]],
    [
      'is of the older system, and closes',
      { product_id: 7, change_types: ['checkout'], reason: 'out_of_season', reopening_date: 'more_than_month', alternative_product_id: 9 },
      [notice({ closure: closed })],
    ],
    [
      'is of the older system, and opens',
      { product_id: 7, change_types: ['checkout'], reason: null, reopening_date: null, alternative_product_id: null },
      [notice({ enabled: true })],
    ],
    [
      'is of the older system, and is about closing days and texts',
      { product_id: 7, change_types: ['closure', 'content'] },
      [notice({ updated: true })],
    ],
  ])('that %s is understood', (_, payload, notices) => {
    expect(decode(payload)).toMatchObject({ notices, quarantine: null });
  }); // biome-ignore format: a table

  it.each<[string, unknown, string]>([
    ['nothing', '', 'not-json'],
    ['half a body', '{"products":[', 'not-json'],
    ['a number', '7', 'wrong-shape'],
    ['an array', '[]', 'wrong-shape'],
    ['no products', '{}', 'wrong-shape'],
    ['products that are none', { products: {} }, 'wrong-shape'],
    ['an id beyond 2^53', '{"products":[{"product_id":9007199254740993,"changes":[{"change_type":"checkout_enabled"}]}]}', 'wrong-shape'],
    ['a fraction as id', { products: [{ product_id: 7.5, changes: [{ change_type: 'checkout_enabled' }] }] }, 'wrong-shape'],
    ['infinity as id', '{"products":[{"product_id":1e400,"changes":[]}]}', 'wrong-shape'],
    ['no changes', of(), 'wrong-shape'],
    ['a change that is none', of(7), 'wrong-shape'],
    ['an unknown change type', of({ change_type: 'moved' }), 'unknown-change-type'],
    ['an older unknown change type', { product_id: 7, change_types: ['moved'] }, 'unknown-change-type'],
    ["somebody else's subscription", { ...of(), subscription_id: 'other' }, 'unknown-subscription'],
    ['ten thousand and one products', { products: Array.from({ length: 10_001 }, () => 0) }, 'too-many-products'],
  ])('with %s is kept aside', (_, payload, quarantine) => {
    expect(decode(payload).quarantine).toBe(quarantine);
  }); // biome-ignore format: a table

  it('that was cut, or is no UTF-8, is kept aside', () => {
    expect(decodeNotification(Buffer.from('{}'), { ...delivery, truncated: true }).quarantine).toBe('truncated');
    expect(decodeNotification(Buffer.from([0x7b, 0xff, 0x7d]), delivery).quarantine).toBe('not-utf8');
  });

  it('of which a part is unknown still says the rest', () => {
    const { notices, quarantine } = decode({
      products: [7, { product_id: 8, changes: [{ change_type: 'moved' }, { change_type: 'checkout_disabled' }] }],
    });
    expect(quarantine).toBe('wrong-shape');
    expect(notices).toMatchObject([
      { product_id: 8, updated: true, closure: { reason: null } },
      { product_id: 7, updated: true, closure: null },
    ]);
  });

  it('nested 200,000 levels deep, or with members that mean something to JavaScript, does no harm', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    expect(decode(`{"products":${deep}}`).quarantine).toBe('wrong-shape');
    expect(decode(`{"__proto__":{"products":[]},"products":[],"x":${deep}}`)).toMatchObject({ notices: [] });
    expect(decode('{"products":[{"__proto__":{"product_id":7},"changes":[]}]}').notices).toEqual([
      notice({ updated: true }),
    ]);
    expect(({} as { products?: unknown }).products).toBeUndefined();
  });
});

describe('a delivery of another form', () => {
  const usual = of({ change_type: 'checkout_disabled', reason_code: 'out_of_season' });
  const body = JSON.stringify(usual);
  const found = (body: string | Uint8Array) => decodeNotification(Buffer.from(body), delivery);

  it.each<[string, Uint8Array]>([
    ['gzip', gzipSync(body)],
    ['deflate', deflateSync(body)],
    ['deflate without its header', deflateRawSync(body)],
    ['two members of gzip', Buffer.concat([gzipSync(body.slice(0, 9)), gzipSync(body.slice(9))])],
  ])('that is sent as %s is understood as the usual body, and closes', (_, bytes) => {
    expect(found(bytes)).toEqual(decode(usual));
  });

  it.each<[string, Uint8Array, string]>([
    ['gzip within gzip', gzipSync(gzipSync(body)), 'encoded-twice'],
    ['deflate within gzip', gzipSync(deflateSync(body)), 'encoded-twice'],
    ['more than the receiver takes', gzipSync(Buffer.alloc(2 * 1024 * 1024, 0x20)), 'inflates-too-long'],
    ['half of its gzip', gzipSync(body).subarray(0, 30), 'bad-encoding'],
    ['gzip of no text', gzipSync(Buffer.from([0x7b, 0xff])), 'not-utf8'],
  ])('with %s is kept aside', (_, bytes, quarantine) => {
    expect(found(bytes)).toMatchObject({ notices: [], quarantine, understood: false });
  });

  const line = JSON.stringify({ product_id: 7 });
  it.each<[string, string, number[]]>([
    ['a field of a web form', `payload=${encodeURIComponent(body)}`, [7]],
    ['a field with other fields', `type=change&data=${encodeURIComponent(body)}&sent=1`, [7]],
    ['fields of a web form', 'product_ids[]=7&event=changed', [7]],
    ['ids in one field', 'product_ids=7,8', [7, 8]],
    ['an envelope', JSON.stringify({ event: 'changed', data: usual }), [7]],
    ['an envelope around text', JSON.stringify({ Type: 'Notification', Message: body }), [7]],
    ['an array', JSON.stringify([usual, { product_id: 8 }]), [7, 8]],
    ['lines', `${line}\n${JSON.stringify({ product_ids: ['8', 9] })}\r\n`, [7, 8, 9]],
    ['a line that is cut', `${line}\n{"product_id":`, [7]],
    ['bare ids', JSON.stringify({ products: [7, '8', { id: 9 }] }), [7, 8, 9]],
    ['products whose changes are none', JSON.stringify({ products: [{ product_id: 7, changes: 'all' }] }), [7]],
    ['one product that changed', JSON.stringify({ product_id: 7, event: 'changed' }), [7]],
  ])('that is %s has its products read, and closes none', (_, text, ids) => {
    const { notices, quarantine, understood, form } = found(text);
    const read = notices.toSorted((a, b) => a.product_id - b.product_id);
    expect(read).toEqual(ids.map((product_id) => notice({ product_id, updated: true })));
    expect({ quarantine, understood, form }).toEqual({ quarantine: null, understood: true, form: 'other' });
  });

  it.each<[string, unknown]>([
    ['an order', { order: { id: 7, ids: [7], productId: 7, alternative_product_id: 7 } }],
    ['a value that changed', { changes: [{ field_name: 'x', new_value: { product_id: 7 } }] }],
    ['text within text within text', { a: JSON.stringify({ b: JSON.stringify({ product_id: 7 }) }) }],
    ['no id', { product_ids: [-7, 7.5, 'seven', true, null, 2 ** 53], products: {} }],
  ])('that names ids elsewhere, as in %s, is not understood', (_, payload) => {
    expect(decode(payload)).toMatchObject({ notices: [], quarantine: 'wrong-shape', understood: false });
  });

  it('that names more than a hundred products has a hundred read, and is not understood', () => {
    const { notices, quarantine, understood } = decode({ product_ids: Array.from({ length: 150 }, (_, id) => id + 1) });
    expect([notices.length, quarantine, understood]).toEqual([100, 'wrong-shape', false]);
  });

  it("of somebody else's subscription has its product read, closes nothing and is kept aside", () => {
    const { notices, quarantine } = decode({ ...usual, subscription_id: 'other' });
    expect([notices, quarantine]).toEqual([[notice({ updated: true })], 'unknown-subscription']);
  });

  it.each(['CHECKOUT_DISABLED', 'Checkout-Disabled', 'checkoutDisabled', ' checkout disabled '])(
    'whose change type is spelled %s closes as the usual one',
    (change_type) => {
      const closing = of({ change_type, reason_code: 'out_of_season' });
      expect(decode(closing)).toEqual(decode(usual));
    },
  );
});

it('of whatever bytes, a delivery is decoded without a throw and names safe ids only', () => {
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
    fc
      .record({
        subscription_id: fc.oneof(fc.constant('norland'), fc.anything()),
        products: fc.array(
          fc.record({
            product_id: fc.oneof(fc.integer(), fc.double(), fc.string(), fc.anything()),
            changes: fc.oneof(
              fc.anything(),
              fc.array(fc.record({ change_type: fc.constantFrom('checkout_disabled', 'checkout_enabled', 'x'), reason: fc.anything() })),
            ),
          }),
        ),
      })
      .map((value) => Buffer.from(JSON.stringify(value) ?? '')),
  ); // biome-ignore format: a shape
  fc.assert(
    fc.property(anything, (body) => {
      for (const { product_id, fields } of decodeNotification(body, delivery).notices) {
        expect(Number.isSafeInteger(product_id) && product_id > 0).toBe(true);
        expect(fields.length).toBeLessThanOrEqual(100);
      }
    }),
    { numRuns: thorough ? 20_000 : 500 },
  );
});
