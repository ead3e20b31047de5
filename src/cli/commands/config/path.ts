import type { Invocation } from "../../command.ts"

/** `hermes config path` and `hermes config env-path`: prints the path and nothing else. */
export function run({ path, terminal, home }: Invocation): Promise<number> {
  terminal.line(home.file(path.at(-1) === "env-path" ? ".env" : "config.yaml"))
  return Promise.resolve(0)
}
