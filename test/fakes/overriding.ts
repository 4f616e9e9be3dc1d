/** Returns an object that does what another one does, but for some members. It may be of a class with private fields. */
export function overriding<Whole extends object>(whole: Whole, over: Partial<Whole>): Whole {
  return new Proxy(whole, {
    get: (target, name) => {
      if (name in over) return Reflect.get(over, name);
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
