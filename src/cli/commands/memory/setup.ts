import { CliError, type Invocation } from "../../command.ts"

/** `hermes memory setup [PROVIDER]`: providers come with plugins, and this release has no plugins. */
export function run({ positionals }: Invocation): Promise<number> {
  const [name] = positionals
  const wanted = name === undefined ? "There is no memory provider to set up" : `There is no memory provider "${name}"`
  const why = "plugins bring them, and none is installed. MEMORY.md and USER.md work without one."
  return Promise.reject(new CliError(`${wanted}: ${why}`, { exitCode: 1 }))
}
