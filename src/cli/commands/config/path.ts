import type { Invocation } from "../../command.ts"
import { printJson } from "../../terminal/json-output.ts"

/** `hermes config path` and `hermes config env-path`: prints the path and nothing else. */
export function run({ path, flags, terminal, home }: Invocation): Promise<number> {
  const file = home.file(path.at(-1) === "env-path" ? ".env" : "config.yaml")
  if (flags.has("json")) printJson(terminal, { path: file })
  else terminal.line(file)
  return Promise.resolve(0)
}
