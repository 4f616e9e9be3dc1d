import type { Sandbox } from '../../src/sandbox/sandbox.ts';

/** Returns a zone in which it is noon: its midnight, which moves dates from one read to another, is half a day away. */
export function zoneAtNoon(now: number): string {
  const hour = new Date(now).getUTCHours();
  // The sign is POSIX's: Etc/GMT-3 is three hours ahead of UTC.
  return `Etc/GMT${hour > 12 ? '+' : '-'}${Math.abs(12 - hour)}`;
}

/**
 * Plants a number into everything that the sandbox answers, one more with each answer: whoever reads a product, or the
 * dates of one window, and finds two numbers in it, has seen half an update. A product is called "State 17" and costs
 * 100,017 cents; on each date that is not sold out its slots have 17 tickets at 1,017 cents; and the dates whose day
 * number plus 17 is divisible by five are sold out.
 *
 * Everything lies in one zone, whose midnight is half a day away from now.
 */
export function numberAnswers(sandbox: Sandbox, now: number): { readonly zone: string; answers(): number } {
  let state = 0;
  const zone = zoneAtNoon(now);
  const { find, visible } = sandbox.world;
  for (const product of sandbox.products())
    Object.assign(product, { place: { ...product.place, zone }, status: 'available', slots: 2, closed_weekday: null });
  const number = (product: NonNullable<ReturnType<typeof find>>) =>
    Object.assign(product, { title: `State ${state}`, price: 100_000 + state });
  Object.assign(sandbox.world, {
    find: (id) => {
      state += 1;
      const product = find(id);
      return product === null ? null : number(product);
    },
    visible: () => {
      state += 1;
      return visible().map(number);
    },
    days: (product, from, to) => {
      const days = [];
      for (let at = Date.parse(from); at <= Date.parse(to); at += 86_400_000) {
        if ((at / 86_400_000 + state) % 5 === 0) continue;
        const offers = product.variants.map(({ id }) => offer(id, state));
        const slots = ['10:00', '14:30'].map((time) => ({ time, availability: state, offers }));
        days.push({ date: new Date(at).toISOString().slice(0, 10), availability: state, slots });
      }
      return days;
    },
  } satisfies Partial<Sandbox['world']>);
  return { zone, answers: () => state };
}

function offer(variant_id: number, state: number) {
  const prices = { retail_price: 1000 + state, ticket_value: 1000 + state, booking_fee: 0, commission: 0 };
  return { variant_id, max_tickets: state, ...prices, pricing_restriction: null };
}
