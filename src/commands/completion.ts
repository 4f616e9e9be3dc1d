import { Argument, Command } from 'commander';
import type { Io } from './terminal/io.ts';

/** `every` loads all commands: completion is made from them, and so knows what they know. */
export function completionCommand(io: Io, every: () => Promise<Command>): Command {
  return new Command('completion')
    .description('Prints a script that completes commands and options in a shell.')
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh']))
    .addHelpText(
      'after',
      '\nExamples:\n  eval "$(catalogued completion bash)"                                        # in ~/.bashrc\n  catalogued completion zsh > /usr/local/share/zsh/site-functions/_catalogued  # then start zsh again',
    )
    .action(async (shell: string) => {
      const places = placesIn(await every());
      io.stdout.write(shell === 'bash' ? bash(places) : zsh(places));
    });
}

/** A command, as it is typed, and what may stand behind it. */
interface Place {
  /** `catalogued config show` */
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly about: string }[];
  /** Its options that take a value: what follows one is no command. */
  readonly valued: readonly string[];
}

function placesIn(command: Command, above: readonly Command[] = []): Place[] {
  const line = [...above, command];
  const options = line.flatMap((each) => each.options.filter(({ hidden }) => !hidden));
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const names = options.flatMap(({ long, short, description, required, optional }) =>
    [long, short].flatMap((word) => (word == null ? [] : [{ word, about: description, valued: required || optional }])),
  );
  const place = {
    path: line.map((each) => each.name()).join(' '),
    words: [
      ...command.commands.map((each) => ({ word: each.name(), about: firstSentence(each.description()) })),
      ...choices.map((word) => ({ word, about: '' })),
      ...names,
      { word: '--help', about: 'print what it does' },
    ],
    valued: names.filter(({ valued }) => valued).map(({ word }) => word),
  };
  return [place, ...command.commands.flatMap((each) => placesIn(each, line))];
}

function firstSentence(text: string): string {
  return text.split('. ')[0]?.replace(/\.$/, '') ?? '';
}

/* Both scripts go through the words that are complete, to find the command, and offer what may follow it; else files. */

function bash(places: readonly Place[]): string {
  return `# bash completion of catalogued, made by: catalogued completion bash
_catalogued() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} place=catalogued words='' valued='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place \${COMP_WORDS[i]}" in
      ${paths(places)}) place="$place \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$place" in
${places.map(({ path, words, valued }) => `    ${quoted(path)}) words=${quoted(words.map(({ word }) => word).join(' '))} valued=${quoted(` ${valued.join(' ')} `)} ;;`).join('\n')}
  esac
  COMPREPLY=()
  [[ $valued == *" $previous "* ]] || COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _catalogued catalogued
`;
}

function zsh(places: readonly Place[]): string {
  const described = ({ word, about }: Place['words'][number]) => quoted(about === '' ? word : `${word}:${about}`);
  return `#compdef catalogued
# zsh completion of catalogued, made by: catalogued completion zsh
_catalogued() {
  local place=catalogued valued='' i
  local -a items
  for ((i = 2; i < CURRENT; i++)); do
    case "$place $words[i]" in
      (${paths(places)}) place="$place $words[i]" ;;
    esac
  done
  case "$place" in
${places.map(({ path, words, valued }) => `    (${quoted(path)}) valued=${quoted(` ${valued.join(' ')} `)} items=(${words.map(described).join(' ')}) ;;`).join('\n')}
  esac
  if [[ $valued == *" $words[CURRENT-1] "* ]]; then _files; else _describe catalogued items || _files; fi
}
if [[ $funcstack[1] == _catalogued ]]; then _catalogued "$@"; else compdef _catalogued catalogued; fi
`;
}

/** Every command below the first, as a pattern. */
function paths(places: readonly Place[]): string {
  return places
    .slice(1)
    .map(({ path }) => quoted(path))
    .join('|');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
