import { orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord } from "../../base/json.ts"
import { readDiagnostics } from "./diagnostic.ts"
import type { Diagnostic } from "./diagnostic.ts"
import type { OpenDocument } from "./open-documents.ts"
import type { RunningServer, ServerCapabilities } from "./running-server.ts"

/** A server often publishes in steps; a publication is final when no further one follows within this time. */
const QUIET_MS = 150

export interface DiagnosticsContext {
  readonly server: RunningServer
  readonly capabilities: ServerCapabilities
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Fetches the diagnostics of a document in the state last sent to the server. Resolves with undefined when they did not arrive in
 * time: outdated or partial diagnostics would attribute errors to the wrong edit.
 */
export async function fetchDiagnostics(
  document: OpenDocument,
  context: DiagnosticsContext & { readonly whenIdle: boolean },
): Promise<readonly Diagnostic[] | undefined> {
  const { server, capabilities, signal } = context
  if (context.whenIdle) await waitUntilIdle(context)
  const pulling = server.pullDiagnostics()
  const pulled = pulling === undefined ? [] : await pull(document, pulling, context)
  if (pulled === undefined) return undefined
  const published =
    pulling === undefined ? await waitForPublication(document, context) : currentPublication(document, server)
  if (signal.aborted || server.hasEnded()) return undefined
  if (pulling === undefined && published === undefined) return undefined
  const read = (items: unknown): readonly Diagnostic[] =>
    readDiagnostics(items, { text: document.text, encoding: capabilities.encoding })
  return unique([...read(pulled), ...read(published?.items)])
}

/** A server that is still loading a project reports only some errors. It announces that work shortly after its start. */
async function waitUntilIdle({ server, capabilities, clock, signal }: DiagnosticsContext): Promise<void> {
  for (;;) {
    if (signal.aborted || server.hasEnded()) return
    const remainingMs = capabilities.readyAt + QUIET_MS - clock.now()
    if (remainingMs > 0) await pause(remainingMs, { clock, signal })
    else if (server.isBusy()) await server.nextChange(signal)
    else return
  }
}

async function pull(
  document: OpenDocument,
  { identifier }: { readonly identifier?: string },
  { server, clock, signal }: DiagnosticsContext,
): Promise<unknown> {
  for (;;) {
    const params = { textDocument: { uri: document.uri }, ...(identifier === undefined ? {} : { identifier }) }
    const response = await server.request("textDocument/diagnostic", params, signal)
    if (signal.aborted || response.kind === "failed") return undefined
    if (response.kind === "result") return isRecord(response.value) ? (response.value["items"] ?? []) : undefined
    await pause(QUIET_MS, { clock, signal })
  }
}

/** Waits until the server has published diagnostics for this version of the document and then nothing for `QUIET_MS`. */
async function waitForPublication(document: OpenDocument, { server, clock, signal }: DiagnosticsContext) {
  for (;;) {
    if (signal.aborted || server.hasEnded()) return undefined
    const found = currentPublication(document, server)
    const remainingMs = found === undefined ? 0 : found.at + QUIET_MS - clock.now()
    if (found !== undefined && remainingMs <= 0) return found
    await (found === undefined ? server.nextChange(signal) : pause(remainingMs, { clock, signal }))
  }
}

/** Returns the last publication if it refers to the document's current version. */
function currentPublication({ uri, version, order }: OpenDocument, server: RunningServer) {
  const found = server.published(uri)
  if (found === undefined || found.order < order) return undefined
  return found.version === undefined || found.version === version ? found : undefined
}

async function pause(ms: number, { clock, signal }: Pick<DiagnosticsContext, "clock" | "signal">): Promise<void> {
  await orAborted(clock.sleep(ms, { signal }).catch(ignoreAbort), signal)
}

function ignoreAbort(): void {
  // The signal ended the wait; the caller checks it next.
}

function unique(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  return [...new Map(diagnostics.map((diagnostic) => [JSON.stringify(diagnostic), diagnostic])).values()]
}
