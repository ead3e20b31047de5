import { changeToolsets, listToolsets } from "../../admin/tools/toolset-settings.ts"
import { asSentence } from "../../base/sentence.ts"
import type { Invocation } from "../command.ts"
import { homeContext } from "../home-context.ts"

/** Asks which toolsets new sessions do without. An empty answer keeps them, `none` enables all. */
export async function askToolsets(invocation: Invocation): Promise<void> {
  const { terminal } = invocation
  const context = homeContext(invocation)
  const toolsets = await listToolsets(context)
  const disabled = toolsets.filter(({ enabled }) => !enabled).map(({ name }) => name)
  const names = toolsets.map(({ name }) => name)
  const answer = await terminal.ask(
    `Toolsets to disable, separated by commas, of ${names.join(", ")} [${disabled.length === 0 ? "none" : disabled.join(", ")}]: `,
  )
  const words = (answer ?? "").split(/[\s,]+/u).filter((word) => word !== "")
  if (words.length === 0) return
  const wanted = words.length === 1 && words[0]?.toLowerCase() === "none" ? [] : words
  const changes = [
    ...(await changeToolsets(
      context,
      wanted.filter((name) => !disabled.includes(name)),
      "disable",
    )),
    ...(await changeToolsets(
      context,
      disabled.filter((name) => !wanted.includes(name)),
      "enable",
    )),
  ]
  for (const { outcome } of changes) if (!outcome.ok) terminal.errLine(asSentence(outcome.error))
}
