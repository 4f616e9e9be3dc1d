import { describe, expect, it } from 'vitest';
import type { PageMemory } from '../../src/admin/page/memory.ts';
import { renderPage } from '../../src/admin/page/page.ts';
import { shownWithin } from '../../src/says/conditions/history.rules.ts';
import { withConditions } from '../../src/says/status/verdict.ts';
import { folded, hour, known, now, period, remembered } from './known-status.ts';

const day = 24 * hour;

/** Everything of the page that a person reads; labels of drawings in brackets. */
function textOf(memory: Partial<PageMemory>, status = known): string {
  const page = renderPage(withConditions(status, now), { ...remembered, ...memory }, now, folded);
  const body = (page.split('<main>')[1] ?? '').replaceAll(/<svg[^>]* aria-label="([^"]*)"/g, '[$1] <svg');
  return body.replaceAll(/<title>[^<]*<\/title>|<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
}

describe('when a condition was shown', () => {
  const cases: [title: string, periods: [number, number | null][], expected: object][] = [
    ['never', [], { times: 0, shown_ms: 0 }],
    [
      'counts only what lies within',
      [
        [0, 150],
        [160, 170],
        [190, 500],
        [500, 600],
      ],
      { times: 3, shown_ms: 50 + 10 + 10 },
    ],
    [
      'counts what overlaps or touches once',
      [
        [110, 130],
        [120, 140],
        [140, 150],
      ],
      { times: 1, shown_ms: 40 },
    ],
    [
      'counts what lasts up to now',
      [[180, null]],
      { times: 1, shown_ms: 20, spans: [{ from: 180, to: 200, lasts: true }] },
    ],
    ['counts what has just begun', [[200, null]], { times: 1, shown_ms: 0 }],
    ['does not count what ended as it began', [[150, 150]], { times: 0, shown_ms: 0 }],
  ];
  it.each(cases)('%s', (_, given, expected) => {
    const periods = given.map(([began_at, ended_at]) => ({ began_at, ended_at }));
    expect(shownWithin(periods, 100, 200)).toMatchObject(expected);
    expect(shownWithin(periods.toReversed(), 100, 200)).toMatchObject(expected);
  });
});

describe('the operator page remembers', () => {
  it('how often and how long each condition was shown, in 24 hours and in 90 days', () => {
    const text = textOf({});
    expect(text).toContain('watched since 2026-10-02');
    expect(text).toMatch(/Anything \[2 ×, 45 min; .*?\] 2 ×, 45 min \[3 ×, 55 min; /);
    expect(text).toMatch(
      /Freshness freshness-missed \[2 ×, 45 min; 2026-11-21 06:20 to 2026-11-21 06:35 UTC, 15 min; /,
    );
    expect(text).not.toContain('Disk disk-full');
    expect(text).toMatch(
      /Service service-unreachable \[never\] never \[1 ×, 10 min; [^\]]*\] 1 ×, 10 min until 40 d ago: it cannot/,
    );
    expect(text).toMatch(/None of the other \d+ of the conditions was active/);
  });

  it('how often and how long each target was missed: an age by itself, and others by what breaks them', () => {
    const periods = [
      period('freshness:availability/near', 90, 20),
      period('disk-full', 70, 20),
      period('file-locked', 60, 20),
    ];
    const text = textOf({ conditions: { watched_since: now - 99 * day, periods } });
    expect(text).toMatch(/Availability \(near\), 6 h \[1 ×, 20 min; [^\]]*\] 1 ×, 20 min /);
    // What overlaps counts once.
    expect(text).toMatch(/what is read is stored \[1 ×, 30 min; [^\]]*\] 1 ×, 30 min .* until 40 min ago: file-locked/);
    expect(text).toMatch(/Every delivery is stored and applied \[never\] never \[never\] never never/);
    expect(text).toMatch(/Anything \[1 ×, 30 min;/);
  });

  it('what still lasts', () => {
    const periods = [period('disk-full', 60, null, 'it is full')];
    expect(textOf({ conditions: { watched_since: now - 99 * day, periods } })).toMatch(
      /Disk disk-full \[1 ×, 1 h; 2026-11-21 10:20 to now UTC, 1 h\] 1 ×, 1 h .* lasts : it is full/,
    );
  });

  it('nothing of times in which nobody watched, and says so', () => {
    expect(textOf({ conditions: null })).toContain('Not known: the inbox');
    expect(textOf({ conditions: { watched_since: null, periods: [] } })).toContain('None yet: no daemon has watched');
    const strips = (watched_since: number) =>
      renderPage(withConditions(known, now), { ...remembered, conditions: { watched_since, periods: [] } }, now, folded)
        .match(/class="watched" x="\d+" width="\d+"/g)
        ?.slice(0, 2);
    expect(strips(now - 12 * hour)).toEqual([
      'class="watched" x="500" width="500"',
      'class="watched" x="994" width="6"',
    ]);
    expect(strips(now - 99 * day)).toEqual([
      'class="watched" x="0" width="1000"',
      'class="watched" x="0" width="1000"',
    ]);
  });

  it('the last changes and deliveries, and since when it is up', () => {
    const text = textOf({});
    expect(text).toMatch(/Last changes .* Museum of Bread &amp; Roses can be booked again on 2026-12-24\. 1 h ago/);
    expect(text).toMatch(/Last deliveries .* 1 1 s ago all applied/);
    expect(text).toContain('catalogued 1.0.0, up for 2 d');
    expect(textOf({ changes: [], deliveries: [] })).toMatch(/Last changes None yet\. .*Last deliveries None yet\./);
  });
});

describe('the operator page says of what is under way', () => {
  const filling = { ...known, filled_at: null, records: { ...known.records, all: 6000, never_fetched: 1200 } };
  const job = { job_id: 3, requested_at: now - hour, records: 300, left: 100, failed: 2, finished_at: null };
  const kinds = [
    { resource: 'availability', edition: 'EUR', part: 0 },
    { resource: 'availability', edition: 'EUR', part: 1 },
    { resource: 'variants', edition: 'en', part: 0 },
  ] as const;
  const resyncs = (product_ids: number[] | null, left = 100) => [{ ...job, left, selection: { kinds, product_ids } }];

  it('how far the first fill is, and how long it takes at best', () => {
    expect(textOf({}, filling)).toMatch(/First fill \[80 %\] 4,800 of 6,000 0 at least 2 min/);
    const nothing = { ...known.records, all: 0, never_fetched: 0 };
    expect(textOf({}, { ...filling, records: nothing })).toMatch(/First fill \[0 %\] 0 of 0 0 not known yet/);
  });

  it('what a resync reads, and how long it takes at its speed so far', () => {
    expect(textOf({ resyncs: resyncs(null) })).toMatch(
      /Resync 3: Availability, Variants \[66 %\] 200 of 300 2 about 30 min/,
    );
    expect(textOf({ resyncs: resyncs([0, 973698]) })).toMatch(/Resync 3: Availability, Variants of product 973698 \[/);
    expect(textOf({ resyncs: resyncs([1, 2], 300) })).toMatch(
      /Variants of 2 products \[0 %\] 0 of 300 2 at least 30 s/,
    );
  });
});
