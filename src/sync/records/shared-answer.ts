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

/** Runs work under a name when the work before it under the same name has ended. */
export type TakeTurns = <Result>(name: string, work: () => Promise<Result>) => Promise<Result>;

export function turns(): TakeTurns {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const mine = (last.get(name) ?? Promise.resolve()).then(work);
    // The next one waits for the end of this one, not for its success.
    const over = mine.catch(() => undefined);
    last.set(name, over);
    try {
      return await mine;
    } finally {
      if (last.get(name) === over) last.delete(name);
    }
  };
}
