import { quoteForShell } from "../../base/quote-for-shell.ts"

/** The command that resumes a session of a profile. */
export function resumeCommand(sessionId: string, profile: string): string {
  return `hermes ${profile === "default" ? "" : `-p ${shellWord(profile)} `}--resume ${shellWord(sessionId)}`
}

function shellWord(text: string): string {
  return /^[\w.-]+$/u.test(text) ? text : quoteForShell(text)
}
