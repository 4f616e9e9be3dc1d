import { expect, it } from 'vitest';
import { answerLengths } from '../../src/domain/catalogue/answer-lengths.ts';
import type { AvailabilityAnswer } from '../../src/domain/catalogue/availability.ts';
import { type WindowRequest, windowRequests } from '../../src/domain/catalogue/window-requests.ts';
import type { Dates } from '../../src/domain/time/dates.ts';

/** An answer to a request that sells the first and the last of these dates, whatever was asked for. */
function naming({ asked }: WindowRequest, named: Dates): AvailabilityAnswer {
  const days = new Map([named.from, named.to].map((date) => [date, [1, null, []]]));
  return { named, covered_to: asked.to, days } as unknown as AvailabilityAnswer;
}

it('a service that answers two requests for the same other dates is caught, though it named whole weeks', () => {
  // From Wednesday to the Wednesday two weeks later.
  const window = { from: '2026-12-02', to: '2026-12-16' };
  const lengths = answerLengths();
  // A service that is known to answer for as many dates as it is asked for.
  for (let rest = 0; rest < 3; rest += 1) lengths.restAnswered(null);
  const requests = windowRequests(window, { today: '2026-11-21', most: 31, lengths });
  const answered = { from: '2026-11-30', to: '2026-12-06' };
  const first = requests.next();
  if (first === null) throw new Error('no request');
  const covered = requests.judge(first, naming(first, answered));
  expect(covered).toMatchObject({ dates: { from: '2026-12-02', to: '2026-12-06' }, asAsked: false });
  requests.stored(covered.kind === 'some' ? covered.still : []);
  const second = requests.next();
  if (second === null) throw new Error('no second request');
  expect(second.asked).toEqual({ from: '2026-11-30', to: '2026-12-27' });
  expect(requests.judge(second, naming(second, answered))).toEqual({ kind: 'nothing' });
  expect(requests.next()).toBeNull();
  expect(requests.unanswered).toMatchObject([{ from: '2026-12-07', to: '2026-12-16' }]);
});
