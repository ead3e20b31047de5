import { z } from "zod"

import { stringField } from "../../base/json.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { scrubSurrogates } from "../../base/text.ts"
import type { FileFacts } from "../../exec/workspace.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { digestLines, digestValue } from "../../toolkit/digest-line.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { crossProfileRefusal } from "./paths/cross-profile.ts"
import { lintChange } from "./write/lint/lint-change.ts"
import { diagnosticsBefore, diagnosticsAfter } from "./write/new-diagnostics.ts"
import { fileDiff, boundDiff } from "./write/file-diff.ts"
import { MAX_EDITED_BYTES, unwritableReason, stampOf } from "./write/write-verified.ts"
import { outsideRootWarning, resolvedField } from "./paths/display-path.ts"
import { decodeText, encodeLike } from "./text/text-encoding.ts"
import type { DecodedText } from "./text/text-encoding.ts"
import { isUnchangedNotice } from "./tracking/unchanged-notice.ts"
import { counted } from "../../base/counted.ts"

export const writeFile = defineTool({
  name: "write_file",
  claudeCode: { name: "Write", arguments: { path: "file_path" } },
  toolset: "file",
  inScripts: true,
  scripts: { returns: "bytes_written" },
  description:
    "Write a text file: replaces the whole content, or creates the file and its parent directories. Prefer patch for edits. Use this " +
    "instead of echo or here-documents in the shell. Line endings and mode of an existing file are kept; a syntax check follows.",
  input: z.object({
    path: z.string().min(1).describe("File to write; relative paths start at the working directory"),
    content: z.string().describe("The complete new content"),
    cross_profile: z.boolean().default(false).describe("Allow writing to another profile's home"),
  }),
  declarationRank: 4,
  lean: true,
  access: "write",
  subject: ({ path }) => ({ kind: "path", path }),
  label: { emoji: "📄", verb: "write" },
  preview: ({ path }) => path,
  parallel: "by-path",
  family: "edit",
  subjectsAreFiles: true,
  digest: ({ args }) => {
    const lines = digestLines(stringField(args, "content") ?? "")
    return `[write_file] wrote to ${digestValue(args["path"])} (${lines} lines)`
  },
  run: async ({ path, content, cross_profile: crossProfile }, context) => {
    const { files } = context.workspace
    const tracker = context.ports.files
    tracker?.resetRepeatCount()
    if (path.endsWith("/")) return failure(`${path} names a directory; name a file in it`)
    if (isUnchangedNotice(content)) {
      return failure("content is the result of a repeated read_file, not the content of the file; nothing was changed")
    }
    try {
      const target = files.resolve(path)
      const real = await files.realPath(target)
      const refused = crossProfile
        ? undefined
        : (crossProfileRefusal(target, tracker?.directories) ?? crossProfileRefusal(real, tracker?.directories))
      if (refused !== undefined) return failure(refused)
      const work = (): Promise<ToolResult> => replaceFile({ path, target, real, content }, context)
      if (tracker === undefined) return await work()
      return (await tracker.withLocks([real], context.signal, work)) ?? failure("interrupted; nothing was changed")
    } catch (error) {
      return failure(`cannot write ${path}: ${explainSystemError(error)}; nothing was changed`)
    }
  },
})

interface NewContent {
  readonly path: string
  readonly target: string
  readonly real: string
  readonly content: string
}

async function replaceFile({ path, target, real, content }: NewContent, context: ToolContext): Promise<ToolResult> {
  const { workspace, ports } = context
  const tracker = ports.files
  const pending = await diagnosticsBefore([target], context)
  if (context.signal.aborted) return failure("interrupted; nothing was changed")
  const facts = await workspace.files.stat(target)
  const problem = unwritableReason(path, facts)
  if (problem !== undefined) return failure(problem)
  const before = await previousText(target, facts, context)
  const stale = facts === undefined ? undefined : tracker?.staleWarning(real, facts, "replace")
  const text = scrubSurrogates(content)
  const written = await workspace.files.write(target, before === undefined ? text : encodeLike(text, before.format))
  tracker?.recordWrite(real, await stampOf(target, workspace.files), "replace")
  tracker?.forgetFailedEdits(real)
  const [lint, diagnostics] = await Promise.all([
    lintChange({ path: target, before: before?.text, after: text }, context),
    diagnosticsAfter(pending, [target], context),
  ])
  const warning = stale ?? outsideRootWarning(path, target, { workspace, tracker })
  const diff =
    facts !== undefined && before === undefined ? "" : fileDiff(target, { before: before?.text, after: text }, context)
  return {
    content: {
      bytes_written: written.bytes,
      ...resolvedField(path, target),
      dirs_created: written.createdDirectories,
      files_modified: [target],
      ...(lint === undefined ? {} : { lint }),
      ...diagnostics.field,
      ...(warning === undefined ? {} : { _warning: warning }),
    },
    summary: `${counted(written.bytes, "byte")} ${facts === undefined ? "written to a new file" : "written"}${diagnostics.summary}`,
    ...(diff === "" ? {} : { diff: boundDiff(diff, context).forUser }),
    filesChanged: [target],
  }
}

/** The current text, for its line endings and for the diff; undefined for a very large file. */
async function previousText(
  target: string,
  facts: FileFacts | undefined,
  { workspace }: ToolContext,
): Promise<DecodedText | undefined> {
  if (facts === undefined || facts.size > MAX_EDITED_BYTES) return undefined
  return decodeText(await workspace.files.read(target))
}
