import { orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord } from "../../base/json.ts"
import { readDiagnostics } from "./diagnostic.ts"
import type { Diagnostic } from "./diagnostic.ts"
import type { OpenDocument } from "./open-documents.ts"
import type { RunningServer, ServerFacts } from "./running-server.ts"

/** A server often publishes in steps; what it says counts when nothing came after it for so long. */
const QUIET_MS = 150

export interface Asked {
  readonly server: RunningServer
  readonly facts: ServerFacts
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * What the server says about a document in the state it was last told of. Undefined when it did not say so in time: an older or a
 * half-finished answer would blame an edit for what it did not do.
 */
export async function diagnosticsOf(
  document: OpenDocument,
  asked: Asked & { readonly whenIdle: boolean },
): Promise<readonly Diagnostic[] | undefined> {
  const { server, facts, signal } = asked
  if (asked.whenIdle) await untilIdle(asked)
  const pulling = server.pullIdentifier()
  const pulled = pulling === undefined ? [] : await pull(document, pulling, asked)
  if (pulled === undefined) return undefined
  const published = pulling === undefined ? await publication(document, asked) : current(document, server)
  if (signal.aborted || server.hasEnded()) return undefined
  if (pulling === undefined && published === undefined) return undefined
  const read = (items: unknown): readonly Diagnostic[] =>
    readDiagnostics(items, { text: document.text, encoding: facts.encoding })
  return unique([...read(pulled), ...read(published?.items)])
}

/** While a server still loads a project it knows only a part of what is wrong. It tells of such work a moment after its start. */
async function untilIdle({ server, facts, clock, signal }: Asked): Promise<void> {
  for (;;) {
    if (signal.aborted || server.hasEnded()) return
    const rest = facts.at + QUIET_MS - clock.now()
    if (rest > 0) await pause(rest, { clock, signal })
    else if (server.isBusy()) await server.change(signal)
    else return
  }
}

async function pull(
  document: OpenDocument,
  { identifier }: { readonly identifier?: string },
  { server, clock, signal }: Asked,
): Promise<unknown> {
  for (;;) {
    const params = { textDocument: { uri: document.uri }, ...(identifier === undefined ? {} : { identifier }) }
    const answer = await server.request("textDocument/diagnostic", params, signal)
    if (signal.aborted || answer.kind === "refused") return undefined
    if (answer.kind === "answer") return isRecord(answer.value) ? (answer.value["items"] ?? []) : undefined
    await pause(QUIET_MS, { clock, signal })
  }
}

/** Waits for what the server publishes about this state of the document, and then for silence. */
async function publication(document: OpenDocument, { server, clock, signal }: Asked) {
  for (;;) {
    if (signal.aborted || server.hasEnded()) return undefined
    const found = current(document, server)
    const rest = found === undefined ? 0 : found.at + QUIET_MS - clock.now()
    if (found !== undefined && rest <= 0) return found
    // Without a publication there is nothing to time: the next word of the server, or the signal, ends the wait.
    await (found === undefined ? server.change(signal) : pause(rest, { clock, signal }))
  }
}

/** The last publication, if it is about what the server was last told. A version that does not fit is not believed. */
function current({ uri, version, order }: OpenDocument, server: RunningServer) {
  const found = server.published(uri)
  if (found === undefined || found.order < order) return undefined
  return found.version === undefined || found.version === version ? found : undefined
}

async function pause(ms: number, { clock, signal }: Pick<Asked, "clock" | "signal">): Promise<void> {
  await orAborted(clock.sleep(ms, { signal }).catch(stopped), signal)
}

function stopped(): void {
  // The signal ended the wait; whoever waited looks at it next.
}

function unique(all: readonly Diagnostic[]): readonly Diagnostic[] {
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()]
}
