import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import type { SessionStore } from "../../state/store.ts"
import { fenced } from "./attachment.ts"
import type { Attachment } from "./attachment.ts"

const MAX_MESSAGES = 40
const MAX_MESSAGE_CHARS = 2000

/** The end of another conversation, by id or title: what the user said and what was answered, without tool calls. */
export async function attachSession(
  name: string,
  { store, redact }: { readonly store: () => Promise<SessionStore>; readonly redact: (text: string) => string },
): Promise<Result<Attachment>> {
  try {
    const opened = await store()
    const id = await opened.resumeTarget(name)
    if (id === undefined) return fail("there is no such session; /sessions lists them")
    const said = (await opened.conversation(id)).flatMap(lineOf)
    if (said.length === 0) return fail("the session has no messages")
    const shown = said.slice(-MAX_MESSAGES)
    const left = said.length - shown.length
    const text = redact(shown.join("\n\n"))
    return ok({
      body: [...(left > 0 ? [`[${left} earlier messages are not attached.]`] : []), fenced(text)].join("\n"),
    })
  } catch (error) {
    return fail(errorMessage(error))
  }
}

function lineOf(message: Message): readonly string[] {
  if (message.role !== "user" && message.role !== "assistant") return []
  if (message.role === "user" && message.synthetic !== undefined) return []
  const text = contentText(message.content).trim()
  return text === "" ? [] : [`${message.role === "user" ? "User" : "Assistant"}: ${ellipsize(text, MAX_MESSAGE_CHARS)}`]
}
