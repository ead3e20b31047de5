import { escapeHtml } from "./escape-html.ts"
import { localDateTime } from "../../terminal/relative-time.ts"
import { createMessageHtml, diffHtml } from "./message-html.ts"
import type { TranscriptEntry, TranscriptCall } from "./transcript-entries.ts"
import type { TranscriptFacts } from "./transcript-facts.ts"

/** A conversation as one HTML file without scripts and without anything from the network. */
export function transcriptHtml(facts: TranscriptFacts, entries: readonly TranscriptEntry[]): string {
  const render = createMessageHtml()
  const rows = facts.lines.map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(facts.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header>
<h1>${escapeHtml(facts.title)}</h1>
<dl>${rows.join("")}</dl>
</header>
${entries.map((entry) => entryHtml(entry, render)).join("\n")}
<footer>Exported by Hermes. Known secrets are masked.</footer>
</main>
</body>
</html>
`
}

function entryHtml(entry: TranscriptEntry, render: (text: string) => string): string {
  const time = `<time>${escapeHtml(localDateTime(entry.at))}</time>`
  switch (entry.kind) {
    case "user":
      return `<section class="user"><h2>You ${time}</h2>${plainHtml(entry.text)}</section>`
    case "answer":
      return `<section class="answer"><h2>Hermes ${time}</h2>${render(entry.text)}</section>`
    case "notice":
      return `<section class="notice">${plainHtml(entry.text)}</section>`
    case "call":
      return callHtml(entry)
    default:
      return entry satisfies never
  }
}

/** Messages of the user are shown as they were typed. */
function plainHtml(text: string): string {
  return `<p class="plain">${escapeHtml(text)}</p>`
}

function callHtml({ emoji, name, title, args, result, diff, failed }: TranscriptCall): string {
  const summary = `<span class="emoji">${escapeHtml(emoji)}</span> <b>${escapeHtml(name)}</b> <code>${escapeHtml(title)}</code>`
  const body = [
    `<pre>${escapeHtml(args)}</pre>`,
    ...(result === "" ? [] : [`<pre>${escapeHtml(result)}</pre>`]),
    ...(diff === "" ? [] : [diffHtml(diff)]),
  ]
  // A change of a file is what readers look for.
  return `<details class="call"${diff === "" ? "" : " open"}><summary>${summary}${failed ? ' <em class="failed">failed</em>' : ""}</summary>${body.join("")}</details>`
}

const STYLE = `
:root { --text: #1f2328; --dim: #656d76; --page: #ffffff; --card: #f6f8fa; --line: #d8dee4; --accent: #9a6700; --user: #fff8e6;
  --add: #116329; --add-back: #dafbe1; --del: #a40e26; --del-back: #ffebe9; --link: #0969da }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --dim: #8d96a0; --page: #0d1117; --card: #161b22; --line: #30363d;
  --accent: #e3b341; --user: #1f1a0e; --add: #7ee787; --add-back: #12261e; --del: #ffa198; --del-back: #25171c; --link: #58a6ff } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.6 system-ui, -apple-system, "Segoe UI", sans-serif }
main { max-width: 860px; margin: 0 auto; padding: 32px 20px 64px }
header { border-bottom: 1px solid var(--line); margin-bottom: 24px; padding-bottom: 16px }
h1 { font-size: 1.6rem; line-height: 1.3; margin: 0 0 12px; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 0; font-size: 0.85rem }
dt { color: var(--dim) } dd { margin: 0; overflow-wrap: anywhere }
section { margin: 20px 0; overflow-wrap: anywhere }
h2 { font-size: 0.8rem; letter-spacing: 0.04em; margin: 0 0 6px; color: var(--accent) }
section h2 time { color: var(--dim); font-weight: 400; margin-left: 8px }
section.answer h1, section.answer h3 { font-size: 1.15rem; margin: 1em 0 0.4em } section.answer > h2:not(:first-child) { font-size: 1.15rem; letter-spacing: 0; color: inherit; margin: 1em 0 0.4em }
section.user { background: var(--user); border-left: 3px solid var(--accent); border-radius: 6px; padding: 12px 16px }
section.notice { color: var(--dim); font-size: 0.85rem; border-left: 3px solid var(--line); padding-left: 16px; max-height: 12em; overflow: auto }
p { margin: 0 0 0.8em } p:last-child { margin-bottom: 0 }
.plain { white-space: pre-wrap }
a { color: var(--link) }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 10px 12px; overflow: auto; max-height: 32em;
  font: 13px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; margin: 8px 0 }
code { font: 0.88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; background: var(--card); border-radius: 4px; padding: 1px 4px }
pre code { background: none; padding: 0; font-size: inherit }
table { border-collapse: collapse; display: block; overflow: auto } th, td { border: 1px solid var(--line); padding: 4px 10px; text-align: left }
blockquote { margin: 0 0 0.8em; padding-left: 14px; border-left: 3px solid var(--line); color: var(--dim) }
details.call { border: 1px solid var(--line); border-radius: 6px; margin: 8px 0; padding: 6px 12px; font-size: 0.9rem }
details.call summary { cursor: pointer; overflow-wrap: anywhere } details.call summary code { background: none }
.failed { color: var(--del); font-style: normal }
.diff span { display: inline-block; min-width: 100% } .diff .add { color: var(--add); background: var(--add-back) }
.diff .del { color: var(--del); background: var(--del-back) } .diff .hunk, .diff .file { color: var(--dim) }
footer { color: var(--dim); font-size: 0.8rem; border-top: 1px solid var(--line); margin-top: 40px; padding-top: 12px }
@media print { details.call > *:not(summary) { display: block } pre { max-height: none } }
`
