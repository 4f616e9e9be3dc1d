export const demoCommand = null as never;
