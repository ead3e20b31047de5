import { assertNever } from "../../base/assert-never.ts"
import { createRedactor } from "../../base/redact.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { secretValues } from "../../app/secret-values.ts"
import type { HomeContext } from "../home-context.ts"
import { exportSessionLines, writeExportFile, type ExportFileFailure } from "../sessions/export-sessions.ts"
import { readTranscript, type Transcript } from "../sessions/read-sessions.ts"
import { loadSettings } from "../settings/load-settings.ts"
import { transcriptEntries } from "./transcript-entries.ts"
import { transcriptFacts } from "./transcript-facts.ts"

/** Formats for people. `sessions export` has others for programs. */
export type TranscriptFormat = "markdown" | "html"

/** The format that the name of a file asks for. */
export function formatOfFile(path: string): TranscriptFormat | "jsonl" | undefined {
  if (/\.(?:md|markdown)$/iu.test(path)) return "markdown"
  if (/\.html?$/iu.test(path)) return "html"
  return /\.jsonl?$/iu.test(path) ? "jsonl" : undefined
}

/** A stored session as a document for people, with secrets masked; undefined when there is no session with this name. */
export async function exportTranscript(
  context: HomeContext,
  name: string,
  format: TranscriptFormat,
): Promise<string | undefined> {
  const transcript = await readTranscript(context, name)
  if (transcript === undefined) return undefined
  const { config, environment } = await loadSettings(context)
  // The file is made to be passed on, so secrets are masked even where the user has disabled redaction.
  const redactor = createRedactor({ enabled: true, secrets: secretValues({ environment, config, home: context.home }) })
  return await renderTranscript(transcript, { format, redact: (text) => redactor.redact(text, { force: true }) })
}

export type SaveFailure = ExportFileFailure | { readonly kind: "no-session" }

/** Writes a session to a file, in the format that its name asks for; Markdown where it asks for none. */
export async function saveTranscript(
  context: HomeContext,
  request: { readonly session: string; readonly path: string },
): Promise<Result<{ readonly format: TranscriptFormat | "jsonl" }, SaveFailure>> {
  const { session, path } = request
  const format = formatOfFile(path) ?? "markdown"
  const lines =
    format === "jsonl"
      ? await exportSessionLines(context, session, { kind: "jsonl" })
      : await exportTranscript(context, session, format).then((text) =>
          text === undefined ? undefined : [text.trimEnd()],
        )
  if (lines === undefined) return fail({ kind: "no-session" })
  const written = await writeExportFile(path, lines)
  return written.ok ? ok({ format }) : fail(written.error)
}

export async function renderTranscript(
  { session, messages }: Transcript,
  { format, redact }: { readonly format: TranscriptFormat; readonly redact: (text: string) => string },
): Promise<string> {
  const facts = transcriptFacts(session, redact)
  const entries = transcriptEntries(messages, redact)
  switch (format) {
    case "markdown":
      return (await import("./transcript-markdown.ts")).transcriptMarkdown(facts, entries)
    case "html":
      return (await import("./transcript-html.ts")).transcriptHtml(facts, entries)
    default:
      return assertNever(format)
  }
}
