/** A time during which a condition was shown. `ended_at` is null while it still is. */
export interface ShownPeriod {
  readonly began_at: number;
  readonly ended_at: number | null;
}

/** Number of times that something was shown within a span of time, and the total duration. */
export interface ShownWithin {
  readonly times: number;
  readonly shown_ms: number;
  /** Ascending, without gaps of length 0 and without overlaps. */
  readonly spans: readonly ShownSpan[];
}

export interface ShownSpan {
  readonly from: number;
  readonly to: number;
  /** True: it still lasts at the end of the whole span. */
  readonly lasts: boolean;
}

/** Returns the part of periods that lies between two instants. Periods that overlap or touch count once. */
export function shownWithin(periods: readonly ShownPeriod[], from: number, to: number): ShownWithin {
  const clipped = periods
    .map(({ began_at, ended_at }) => ({
      from: Math.max(began_at, from),
      to: Math.min(ended_at ?? to, to),
      lasts: ended_at === null || ended_at > to,
    }))
    .filter((span) => span.to > span.from || (span.lasts && span.to === span.from))
    .toSorted((a, b) => a.from - b.from);
  const spans = grouped(clipped, 0).map(wholeOf);
  return { times: spans.length, shown_ms: spans.reduce((sum, span) => sum + span.to - span.from, 0), spans };
}

/** Groups ascending spans that are no further apart than `gap_ms`, for a drawing that cannot show the gaps. */
export function grouped(spans: readonly ShownSpan[], gap_ms: number): ShownSpan[][] {
  const groups: ShownSpan[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const span of spans) {
    if (span.from - end > gap_ms) groups.push([span]);
    else groups.at(-1)?.push(span);
    end = Math.max(end, span.to);
  }
  return groups;
}

/** Returns the span from the beginning of the first to the latest end. */
export function wholeOf(spans: readonly ShownSpan[]): ShownSpan {
  return spans.reduce((whole, { to, lasts }) => ({
    from: whole.from,
    to: Math.max(whole.to, to),
    lasts: whole.lasts || lasts,
  }));
}
