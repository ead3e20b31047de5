import { forgetBroken } from "../../../exec/language-server/broken-servers.ts"
import { brokenFile } from "../../../exec/language-server/places.ts"
import type { Invocation } from "../../command.ts"
import { counted } from "../../text-layout.ts"

/** `hermes lsp restart [NAME]` */
export function run({ positionals, terminal, home }: Invocation): Promise<number> {
  const [name] = positionals
  const forgotten = forgetBroken(brokenFile(home.path), name)
  terminal.line(
    forgotten === 0
      ? `${name ?? "No server"} ${name === undefined ? "has" : "has not"} failed; servers that run belong to their session and stay as they are.`
      : `Forgot ${counted(forgotten, "failure")}: the next write in that project starts the server again, in open sessions too.`,
  )
  return Promise.resolve(0)
}
