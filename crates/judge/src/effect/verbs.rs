//! Verbs of tool names and commands, in English and Chinese.

use super::{Effect, WriteKind};

const READ: &str = "get list search read cat describe show view find fetch query lookup check inspect status logs \
    log ps top stat stats tail head grep count diff compare validate verify test explain browse open_url visit \
    history events info look retrieve select ls print dump watch monitor ping scan detect analyze analyse \
    download screenshot blame lint preview whoami usage";
const THINK: &str = "think plan reason reflect calculate calc compute note todo brainstorm decide eval";
const FINISH: &str = "finish submit done complete answer exit conclude transfer_to handoff handover escalate";
const CREATE: &str = "create add book insert new make register send post launch provision mkdir touch append \
    reserve schedule charge pay order invite notify email resend publish upload clone copy cp issue grant attach enable \
    subscribe assign tag reply comment install build mount useradd init";
const PUT: &str = "set scale resize put write configure config chmod chown truncate overwrite tee";
const CHANGE: &str = "update modify change edit patch apply replace str_replace upgrade downgrade rename move mv \
    deploy push commit merge rebase migrate alter save sync import transfer approve reject stash sed \
    return exchange swap forward up start stop down reset checkout recover annotate label cordon uncordon drain lock unlock pause resume reschedule renew \
    fix repair heal promote demote failover allow deny block unblock ban unban toggle transition";
const DELETE: &str = "del delete remove cancel rm drop destroy uninstall terminate revoke detach refund disable clean \
    cleanup purge prune unsubscribe umount unlink rmdir close delist evict clear wipe";
const UNDO: &str = "undo rollback revert restore";
const ACT: &str = "restart reboot reload rerun retry kill pkill killall flush trigger restarted bounce recreate \
    redeploy refresh flushall flushdb click";

const CHINESE: &[(&[&str], Effect)] = &[
    (&["回滚", "撤销", "恢复", "还原"], Effect::Write(WriteKind::Undo)),
    (&["重启", "重试", "刷新", "重载", "点击", "杀掉", "杀死"], Effect::Write(WriteKind::Act)),
    (
        &["删除", "取消", "移除", "退款", "退货", "清理", "清空", "下线", "卸载", "关闭"],
        Effect::Write(WriteKind::Delete),
    ),
    (
        &[
            "创建",
            "新增",
            "新建",
            "添加",
            "预订",
            "下单",
            "发送",
            "支付",
            "扣款",
            "提交订单",
            "插入",
            "安装",
            "通知",
            "上传",
            "提交",
        ],
        Effect::Write(WriteKind::Create),
    ),
    (&["设置", "配置", "扩容", "缩容", "写入"], Effect::Write(WriteKind::Put)),
    (
        &[
            "更新", "修改", "变更", "编辑", "部署", "发布", "升级", "启动", "停止", "替换", "迁移", "解锁",
            "锁定", "重置", "开启", "启用", "禁用", "切换", "修复", "续期", "续签", "批准", "驳回",
        ],
        Effect::Write(WriteKind::Change),
    ),
    (&["完成任务", "转人工", "提交答案", "结束"], Effect::Finish),
    (&["思考", "规划", "计算"], Effect::Think),
    (
        &[
            "查询", "查看", "获取", "搜索", "读取", "列出", "检查", "检索", "统计", "诊断", "分析", "日志",
            "状态",
        ],
        Effect::Read,
    ),
];

/// What a run hands in at its end.
const RESULTS: &str =
    "answer answers result results solution patch final task work response report code flag";

/// What a result says was done, for tools whose name tells nothing.
const DONE: &[&str] = &[
    "successfully created",
    "successfully updated",
    "successfully deleted",
    "has been updated",
    "has been created",
    "has been deleted",
    "has been sent",
    "restarted",
    "rows affected",
    "已创建",
    "已更新",
    "已删除",
    "已发送",
    "已重启",
    "修改成功",
    "创建成功",
    "删除成功",
];

/// Names of tools that run what they are given: the command decides, not the name.
const RUNNERS: &str = "bash shell sh zsh exec execute run terminal cmd command powershell ssh python sql psql mysql \
    console repl";
/// Names of tools that are programs with sub-commands of their own.
const PROGRAMS: &str =
    "kubectl docker git helm systemctl aws gcloud az terraform podman npm pip apt service crictl";

fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|w| w == word)
}

/// The effect that one lower-case word names.
pub(super) fn of_word(word: &str) -> Option<Effect> {
    const ORDER: [(&str, Effect); 9] = [
        (READ, Effect::Read),
        (THINK, Effect::Think),
        (FINISH, Effect::Finish),
        (CREATE, Effect::Write(WriteKind::Create)),
        (PUT, Effect::Write(WriteKind::Put)),
        (CHANGE, Effect::Write(WriteKind::Change)),
        (DELETE, Effect::Write(WriteKind::Delete)),
        (UNDO, Effect::Write(WriteKind::Undo)),
        (ACT, Effect::Write(WriteKind::Act)),
    ];
    ORDER.iter().find(|(list, _)| has(list, word)).map(|(_, e)| *e)
}

/// Lower-case words of a name in snake, kebab, dotted or camel case.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut previous_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && previous_lower) {
            out.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = out.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase();
    }
    out.retain(|w| !w.is_empty());
    out
}

/// The effect a tool's name tells: its first verb, or its Chinese verb.
pub(super) fn of_name(name: &str) -> Option<Effect> {
    let words = words(name);
    // A hand-over (`transfer_to_human`) concludes; a transfer of anything else changes the world.
    if words.windows(2).any(|w| w[0] == "transfer" && w[1] == "to") {
        return Some(Effect::Finish);
    }
    // What is submitted as such, or as the answer, concludes; a form or a ticket that is submitted is made.
    let made = |w: &[String]| w[0] == "submit" && !has(RESULTS, &w[1]);
    if words.windows(2).any(made) {
        return Some(Effect::Write(WriteKind::Create));
    }
    words.iter().find_map(|w| of_word(w)).or_else(|| of_chinese(name))
}

/// The verb that comes first decides (查看部署 looks, 部署服务 changes), but a deed named as a thing, as in
/// 部署状态 or 退款记录, is only looked at.
fn of_chinese(name: &str) -> Option<Effect> {
    const DEEDS: [&str; 10] =
        ["部署", "发布", "升级", "退款", "支付", "扣款", "预订", "提交", "锁定", "开启"];
    const THINGS: [&str; 7] = ["状态", "日志", "列表", "详情", "信息", "记录", "流水"];
    let named = |deed: &str| THINGS.iter().any(|thing| name.contains(&format!("{deed}{thing}")));
    if DEEDS.iter().any(|d| named(d)) && !["更新", "修改", "删除"].iter().any(|v| name.contains(v)) {
        return Some(Effect::Read);
    }
    let found = CHINESE.iter().flat_map(|(verbs, effect)| verbs.iter().map(move |v| (*v, *effect)));
    let placed =
        found.filter_map(|(v, effect)| name.find(v).map(|at| (at, std::cmp::Reverse(v.len()), effect)));
    placed.min_by_key(|(at, length, _)| (*at, *length)).map(|(_, _, effect)| effect)
}

pub(super) fn of_result(result: &str) -> Option<Effect> {
    if result.len() > 2_000 {
        return None;
    }
    let lower = result.to_lowercase();
    DONE.iter().any(|d| lower.contains(d)).then_some(Effect::Write(WriteKind::Change))
}

/// Whether a tool of this name runs a command that it is given.
pub(super) fn is_runner(name: &str) -> bool {
    words(name).iter().any(|w| has(RUNNERS, w) || has(PROGRAMS, w))
        || ["命令", "终端", "脚本"].iter().any(|w| name.contains(w))
}

/// The program a tool's name stands for, to be put before its command; empty for a plain shell.
pub(super) fn program(name: &str) -> String {
    words(name).into_iter().find(|w| has(PROGRAMS, w)).unwrap_or_default()
}
