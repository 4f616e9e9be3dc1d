import { Command } from 'commander';
export function demoCommand(_: unknown): Command { return new Command('demo'); }
