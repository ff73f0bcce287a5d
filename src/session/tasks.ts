/** Background tasks that a person ends. */

import { errors } from "../errors/index.ts";
import { type Obj, obj } from "../platform/json.ts";
import { cancelTask, endTasks, keepTask, knowsTask } from "../tasks/background.ts";
import type { Update } from "../translate/updates.ts";
import type { Conversation } from "./conversation.ts";
import type { Residence } from "./residence.ts";

/** As `Sessions.cancelTask`, which says the rest. */
export async function cancelBackgroundTask(
  residence: Residence,
  conversation: Conversation,
  taskId: string,
  deliver: (update: Update) => void,
): Promise<Obj> {
  if (!knowsTask(conversation.tasks, taskId)) throw errors.taskUnknown(taskId);
  cancelTask(conversation.tasks, taskId);
  let answer: Obj;
  try {
    const params = { sessionId: conversation.backendId, taskId };
    answer = obj(await residence.call(conversation, "session/cancelBackgroundTask", params));
  } catch (error) {
    keepTask(conversation.tasks, taskId);
    throw error;
  }
  if (answer.cancelled !== true) keepTask(conversation.tasks, taskId);
  else {
    const updates = endTasks(conversation.tasks, conversation.translate, "cancelled", taskId);
    for (const update of updates) deliver(update);
  }
  return answer;
}
