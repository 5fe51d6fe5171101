/** `completion` and `docs`: what is made of the records of all commands. */
import { UserError } from '../base/errors.js';
import type { Command } from '../command/command.js';
import { candidates } from './candidates.js';
import { reference } from './reference.js';

/** Each asks the program itself for the words that may follow, so no script grows old. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# source <(svcctl completion bash)
_svcctl() {
  local IFS=$'\\n'
  COMPREPLY=($(svcctl __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _svcctl svcctl
`,
  zsh: `#compdef svcctl
# source <(svcctl completion zsh), after compinit
_svcctl() {
  local -a found
  found=("\${(@f)$(svcctl __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
if [[ "$funcstack[1]" == _svcctl ]]; then _svcctl "$@"; else compdef _svcctl svcctl; fi
`,
  fish: `# svcctl completion fish | source
function __svcctl
  svcctl __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c svcctl -f -a '(__svcctl)'
complete -c svcctl -s f -r -F
`,
};

/** `all` is called when a command runs: these are among them. */
export function shellCommands(all: () => readonly Command[]): readonly Command[] {
  return [
    {
      name: 'completion',
      args: '<shell>',
      help: 'Print the completion script of bash, zsh or fish.',
      example: 'completion bash',
      run: async (run) => {
        const shell = run.given.arg(0);
        const script = SCRIPTS[shell];
        if (script === undefined) throw new UserError(`${shell}: write bash, zsh or fish`);
        await run.world.output.write(script);
        return { kind: 'ended' };
      },
    },
    {
      name: 'docs',
      help: 'Print the reference of all commands in Markdown.',
      example: 'docs',
      run: async (run) => {
        await run.world.output.write(reference(all()));
        return { kind: 'ended' };
      },
    },
    {
      name: '__complete',
      args: '[words...]',
      help: 'hidden: Print what the last word may become.',
      example: '__complete -- queue li',
      run: async (run) => {
        const contexts = () => run.config().contexts.map(({ name }) => name);
        const words = candidates(all(), run.given.args(0), contexts);
        await run.world.output.write(words.map((word) => `${word}\n`).join(''));
        return { kind: 'ended' };
      },
    },
  ];
}
