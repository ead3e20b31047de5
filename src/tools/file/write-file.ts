import { z } from "zod"

import { stringField } from "../../base/json.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { scrubSurrogates } from "../../base/text.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { digestLines, digestValue } from "../../toolkit/digest-line.ts"
import { failure } from "../failure.ts"

export const writeFile = defineTool({
  name: "write_file",
  toolset: "file",
  description:
    "Write a text file: replaces the whole content, or creates the file and its parent directories. Use this instead of echo or " +
    "here-documents in the shell. Line endings and mode of an existing file are kept.",
  input: z.object({
    path: z.string().min(1).describe("File to write; relative paths start at the working directory"),
    content: z.string().describe("The complete new content"),
  }),
  access: "write",
  subject: ({ path }) => ({ kind: "path", path }),
  preview: ({ path }) => path,
  parallel: "by-path",
  emoji: "✍️",
  inScripts: true,
  digest: ({ args }) => {
    const lines = digestLines(stringField(args, "content") ?? "")
    return `[write_file] wrote to ${digestValue(args["path"])} (${lines} lines)`
  },
  run: async ({ path, content }, context) => {
    const { files } = context.workspace
    if (path.endsWith("/")) return failure(`${path} names a directory; name a file in it`)
    try {
      const before = await files.stat(path)
      if (before?.kind === "directory") return failure(`${path} is a directory; name a file in it`)
      if (before?.kind === "other") return failure(`${path} is a pipe, a socket or a device, not a regular file`)
      const previous = before === undefined || before.size > MAX_COMPARED_BYTES ? undefined : await files.read(path)
      const written = await files.write(path, likeBefore(scrubSurrogates(content), previous))
      return {
        content: {
          bytes_written: written.bytes,
          resolved_path: written.path,
          dirs_created: written.createdDirectories,
          files_modified: [written.path],
        },
        summary: `${written.bytes} bytes ${before === undefined ? "written to a new file" : "written"}`,
        filesChanged: [written.path],
      }
    } catch (error) {
      return failure(`cannot write ${path}: ${explainSystemError(error)}; nothing was changed`)
    }
  },
})

/** A larger file is not looked at for its line endings. */
const MAX_COMPARED_BYTES = 64 * 1024 * 1024

/** An edit must not turn every line of a CRLF file into a change, nor lose its byte order mark. */
function likeBefore(content: string, previous: Uint8Array | undefined): string {
  if (previous === undefined) return content
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(previous)
  const crlf = text.split("\r\n").length - 1
  const allLines = text.split("\n").length - 1
  const lines = crlf > allLines / 2 ? content.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n") : content
  const bom = "\u{FEFF}"
  return text.startsWith(bom) && !lines.startsWith(bom) ? bom + lines : lines
}
