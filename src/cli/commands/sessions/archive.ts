import { setSessionArchived } from "../../../admin/sessions/change-session.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { noSession } from "./no-session.ts"

/** `hermes sessions archive ID` and `hermes sessions unarchive ID` */
export async function run(invocation: Invocation): Promise<number> {
  const { path, positionals, terminal } = invocation
  const archived = path.at(-1) === "archive"
  const name = positionals.join(" ")
  const id = await setSessionArchived(homeContext(invocation), name, archived)
  if (id === undefined) throw noSession(name)
  terminal.line(
    archived ? `Archived ${id}; \`hermes sessions unarchive ${id}\` brings it back.` : `${id} is listed again.`,
  )
  return 0
}
