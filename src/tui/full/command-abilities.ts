import { systemClock } from "../../base/clock.ts"
import type { Environment } from "../../config/environment.ts"
import type { UiAbilities } from "../chat-ui.ts"
import { createConfirmModal } from "../modals/confirm-modal.ts"
import { createListModal } from "../modals/list-modal.ts"
import type { Screen } from "../screen/screen.ts"
import type { ModalHost } from "./modal-host.ts"

export interface CommandAbilitiesOptions {
  readonly environment: Environment
  readonly screen: Pick<Screen, "control">
  readonly modals: ModalHost
  /** Closes what is open. */
  readonly signal: AbortSignal
}

/** What the full interface offers to a slash command: questions, lists, and the clipboard of the terminal. */
export function commandAbilities({ environment, screen, modals, signal }: CommandAbilitiesOptions): UiAbilities {
  const confirm = async (question: string, offersAlways: boolean) => {
    const openedAt = systemClock.now()
    return await modals.ask(() => createConfirmModal({ question, offersAlways, openedAt }), signal)
  }
  return {
    confirm: async (question) => (await confirm(question, false)) === "once",
    confirmOrAlways: async (question) => (await confirm(question, true)) ?? "cancel",
    pick: async (list) => {
      const { renderPreview } = await import("../modals/render-preview.ts")
      return await modals.ask(() => createListModal(list, { renderPreview }), signal)
    },
    copy: async (text) => {
      const { copySequence } = await import("../screen/notification.ts")
      const sequence = copySequence(text, { inTmux: (environment.get("TMUX") ?? "") !== "" })
      if (sequence === undefined) return "The text is too long for the clipboard of a terminal."
      screen.control(sequence)
      return undefined
    },
  }
}
