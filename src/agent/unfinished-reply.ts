import { codePointLength } from "../base/text.ts"

/**
 * Whether a reply only announces work ("I'll look at the files first") and stops. Some models of the Responses API do that instead
 * of calling a tool. Such a reply is short and names an intent, an action and something in the workspace.
 */
export function isAcknowledgement(text: string, { toolsUsed }: { readonly toolsUsed: boolean }): boolean {
  if (toolsUsed || codePointLength(text) > MAX_ACKNOWLEDGEMENT_CHARS) return false
  return INTENT.test(text) && ACTION.test(text) && WORKSPACE.test(text)
}

/** Whether a scratchpad tag is opened and never closed. A tag name in the middle of a line is prose, not an opening tag. */
export function hasUnclosedScratchpad(text: string): boolean {
  let open = false
  for (const [tag] of text.matchAll(SCRATCHPAD_TAG)) open = !tag.includes("/")
  return open
}

const MAX_ACKNOWLEDGEMENT_CHARS = 1200

const INTENT =
  /\b(?:i['’]ll|i will|i am going to|i['’]m going to|i am about to|i['’]m about to|let me|let['’]s|going to start|i can (?:do|help with) that)\b/iu

const ACTION =
  /\b(?:look|inspect|scan|check|analy[sz]e|analy[sz]ing|review|explore|read|open|run|test|fix|debug|search|find|list|examine|investigate|trace|edit|update|change|write|create|build|walk through|summari[sz]e|report back|start by)/iu

const WORKSPACE =
  /\b(?:workspace|director(?:y|ies)|cwd|repo|repositor(?:y|ies)|code ?base|project|folders?|file ?system|file tree|files?|source|code|modules?|paths?|tests?|config(?:uration)?|logs?)\b/iu

/** A closing tag anywhere, an opening tag at the start of a line. */
const SCRATCHPAD_TAG = /^[ \t]*<reasoning_scratchpad>|<\/reasoning_scratchpad>/gimu
