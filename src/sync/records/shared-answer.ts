/** Asks, or waits for the answer if somebody is asking already. */
export type SharedAnswer<Answered> = (ask: () => Promise<Answered>) => Promise<Answered>;

export function sharedAnswer<Answered>(): SharedAnswer<Answered> {
  let asking: Promise<Answered> | null = null;
  return async (ask) => {
    if (asking !== null) return asking;
    asking = ask();
    try {
      return await asking;
    } finally {
      asking = null;
    }
  };
}
