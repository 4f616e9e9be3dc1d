/** Runs work under a name after all earlier work under the same name has ended. */
export type TakeTurns = <Result>(name: string, work: () => Promise<Result>) => Promise<Result>;

export function turns(): TakeTurns {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const mine = (last.get(name) ?? Promise.resolve()).then(work);
    // The next work waits for the end of this one, whether it succeeds or fails.
    const over = mine.catch(() => undefined);
    last.set(name, over);
    try {
      return await mine;
    } finally {
      if (last.get(name) === over) last.delete(name);
    }
  };
}
