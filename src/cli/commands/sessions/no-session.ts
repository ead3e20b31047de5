import { CliError } from "../../command.ts"

export function noSession(name: string): CliError {
  return new CliError(`There is no session \`${name}\`. \`hermes sessions list --all\` shows them.`, { exitCode: 1 })
}
