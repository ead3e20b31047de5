import type { CommandTree } from "./command.ts"
import { renderBash } from "./completion/bash.ts"
import { completionNodes } from "./completion/completion-nodes.ts"
import { renderFish } from "./completion/fish.ts"
import { renderZsh } from "./completion/zsh.ts"

const RENDERERS = { bash: renderBash, zsh: renderZsh, fish: renderFish } as const
export type Shell = keyof typeof RENDERERS

export function isShell(name: string): name is Shell {
  return Object.hasOwn(RENDERERS, name)
}

/** The completion script of a shell, made from the command tree. */
export function renderCompletion(shell: Shell, tree: CommandTree): string {
  return RENDERERS[shell](completionNodes(tree))
}
