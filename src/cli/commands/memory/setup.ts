import { CliError, type Invocation } from "../../command.ts"

/** `hermes memory setup [PROVIDER]`: memory providers come with plugins, and this release has no plugins. */
export function run({ positionals }: Invocation): Promise<number> {
  const [name] = positionals
  const problem = name === undefined ? "There is no memory provider to set up" : `There is no memory provider "${name}"`
  const reason = "plugins provide them, and none is installed. MEMORY.md and USER.md work without one."
  return Promise.reject(new CliError(`${problem}: ${reason}`, { exitCode: 1 }))
}
