export const sandboxCommand = null as never;
