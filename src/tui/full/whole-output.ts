import type { App } from "../../app/app.ts"
import type { Session } from "../../app/session/session.ts"
import { counted } from "../../base/counted.ts"
import type { Row } from "../drawing.ts"
import { noteRows } from "../render/note-rows.ts"
import { readableResult } from "../render/readable-value.ts"
import type { RowOptions } from "../render/row-options.ts"
import type { EndedTool } from "../render/tool-rows.ts"
import { toolDetailRows } from "../render/tool-rows.ts"
import { textRows } from "./screen-terminal.ts"

const MAX_ROWS = 500

/** The arguments of a call and all of the result that the model has read. */
export async function wholeOutputRows(
  tool: EndedTool,
  { app, session, ...view }: RowOptions & { readonly app: Pick<App, "store">; readonly session: Pick<Session, "id"> },
): Promise<readonly Row[]> {
  const rows = await (await app.store()).messages(session.id)
  const { message } =
    rows.findLast((row) => row.message?.role === "tool" && row.message.tool_call_id === tool.start.call.id) ?? {}
  const text = message?.role === "tool" && typeof message.content === "string" ? message.content : ""
  const result = textRows(readableResult(text), view.columns)
  const hidden = result.length - MAX_ROWS
  return [
    ...toolDetailRows(tool, view),
    ...result.slice(0, MAX_ROWS),
    ...(hidden > 0 ? noteRows(`${counted(hidden, "more row")} not shown.`, { ...view, kind: "note" }) : []),
  ]
}
