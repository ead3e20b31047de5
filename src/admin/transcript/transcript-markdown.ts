import { escapeHtml } from "./escape-html.ts"
import type { TranscriptEntry, TranscriptCall } from "./transcript-entries.ts"
import type { TranscriptFacts } from "./transcript-facts.ts"

/** A conversation as Markdown. Tool calls are folded where the viewer supports it. */
export function transcriptMarkdown(facts: TranscriptFacts, entries: readonly TranscriptEntry[]): string {
  const parts = entries.map((entry) => {
    switch (entry.kind) {
      case "user":
        return `## You\n\n${entry.text}`
      case "answer":
        return `## Hermes\n\n${entry.text}`
      case "notice":
        return `> ${entry.text.replaceAll("\n", "\n> ")}`
      case "call":
        return callText(entry)
      default:
        return entry satisfies never
    }
  })
  const lines = facts.lines.map(([name, value]) => `- **${name}:** ${value.replaceAll("<", "&lt;")}`)
  return `# ${facts.title.replaceAll("<", "&lt;")}\n\n${lines.join("\n")}\n\n---\n\n${parts.join("\n\n")}\n`
}

function callText({ emoji, name, title, args, result, diff, failed }: TranscriptCall): string {
  const summary = escapeHtml(`${emoji} ${name} ${title}${failed ? " (failed)" : ""}`)
  return [
    "<details>",
    `<summary>${summary}</summary>`,
    "",
    fenced(args, "json"),
    ...(result === "" ? [] : ["", fenced(result, "")]),
    ...(diff === "" ? [] : ["", fenced(diff, "diff")]),
    "",
    "</details>",
  ].join("\n")
}

/** The fence is longer than any in the text, so that the text cannot end it. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/gu)].map(([run]) => run.length))
  const fence = "`".repeat(longest + 1)
  return `${fence}${language}\n${text.replace(/\n$/u, "")}\n${fence}`
}
