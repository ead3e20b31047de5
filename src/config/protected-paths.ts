/** Paths that tools and the sandbox treat with care, by what they protect. */
export {
  HERMES_INSTRUCTIONS,
  HERMES_PRIVATE,
  HERMES_PROGRAMS,
  HERMES_PROTECTED,
  HERMES_RESULTS,
  HERMES_SECRETS,
} from "./protected-paths/hermes-home.ts"
export { ACCOUNT_CREDENTIALS } from "./protected-paths/account-credentials.ts"
export { ACCOUNT_START_UP, SYSTEM_PROGRAMS } from "./protected-paths/start-up-files.ts"
export { AGENT_INSTRUCTIONS, EXECUTED_IN_WORKSPACE, TOOL_SETTINGS } from "./protected-paths/project-files.ts"
