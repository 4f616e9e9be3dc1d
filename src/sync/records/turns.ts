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
