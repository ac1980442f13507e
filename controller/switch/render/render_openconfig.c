/* OpenConfig (openconfig-qos 2.2, as JSON of RFC 7951, where 64-bit numbers are strings): a
 * scheduler for each queue, STRICT and in the order of their sequence; classifiers for both kinds
 * of IP on every port's input; ECN by a queue management profile whose thresholds are equal. The
 * model has no guarantee for a strict queue. The undo is a list of gNMI paths to delete. */
#include "controller/switch/render/template.h"

static const struct render_part term_parts[] = {
    {RENDER_EACH_DSCP, ",$dscp", NULL},
    {RENDER_ONCE, "]}}},'actions':{'config':{'target-group':'duopoly-q$queue'}}}", NULL},
    {0},
};
#define CLASSIFIER(ip, type)                                                                       \
    {RENDER_ONCE,                                                                                  \
     ",{'name':'duopoly-" ip "$profile',"                                                          \
     "'config':{'name':'duopoly-" ip "$profile','type':'" type "'},"                               \
     "'terms':{'term':[",                                                                          \
     NULL},                                                                                        \
        {RENDER_EACH_QUEUE,                                                                        \
         ",{'id':'duopoly-q$queue','config':{'id':'duopoly-q$queue'},"                             \
         "'conditions':{'" ip "':{'config':{'dscp-set':[",                                         \
         term_parts},                                                                              \
    {                                                                                              \
        RENDER_ONCE, "]}}", NULL                                                                   \
    }
static const struct render_part classifiers[] = {
    CLASSIFIER("ipv4", "IPV4"), CLASSIFIER("ipv6", "IPV6"), {0}};

static const struct render_part schedulers[] = {
    {RENDER_EACH_QUEUE,
     ",{'sequence':$index,'config':{'sequence':$index,'priority':'STRICT'},"
     "'inputs':{'input':[{'id':'duopoly-q$queue',"
     "'config':{'id':'duopoly-q$queue','input-type':'QUEUE','queue':'duopoly-q$queue'}}]},"
     "'output':{'config':{'output-type':'INTERFACE'}}}",
     NULL},
    {RENDER_ONCE, "]}}", NULL},
    {0},
};

static const struct render_part port_queue_ecn[] = {
    {RENDER_IF_ECN, ",'queue-management-profile':'duopoly-ecn$profile-$queue'", NULL},
    {RENDER_ONCE, "}}", NULL},
    {0},
};
static const struct render_part interface_parts[] = {
    {RENDER_EACH_QUEUE, ",{'name':'duopoly-q$queue','config':{'name':'duopoly-q$queue'",
     port_queue_ecn},
    {RENDER_ONCE, "]},'scheduler-policy':{'config':{'name':'duopoly-$profile'}}}}", NULL},
    {0},
};

static const struct render_part queue_ecn[] = {
    {RENDER_IF_ECN,
     ",{'name':'duopoly-ecn$profile-$queue','config':{'name':'duopoly-ecn$profile-$queue'},"
     "'wred':{'uniform':{'config':{'min-threshold':'$bytes','max-threshold':'$bytes',"
     "'enable-ecn':true,'drop':false,'max-drop-probability-percent':100}}}}",
     NULL},
    {0},
};
static const struct render_part profile_ecn[] = {{RENDER_EACH_QUEUE, "", queue_ecn}, {0}};
static const struct render_part management[] = {
    {RENDER_EACH_PROFILE, "", profile_ecn}, {RENDER_ONCE, "]}", NULL}, {0}};

static const struct render_part set_parts[] = {
    {RENDER_ONCE, "{'openconfig-qos:qos':{'queues':{'queue':[", NULL},
    {RENDER_EACH_OWN_QUEUE,
     ",{'name':'duopoly-q$queue','config':{'name':'duopoly-q$queue','queue-id':$queue}}", NULL},
    {RENDER_ONCE, "]},'forwarding-groups':{'forwarding-group':[", NULL},
    {RENDER_EACH_OWN_QUEUE,
     ",{'name':'duopoly-q$queue',"
     "'config':{'name':'duopoly-q$queue','output-queue':'duopoly-q$queue'}}",
     NULL},
    {RENDER_ONCE, "]},'classifiers':{'classifier':[", NULL},
    {RENDER_EACH_PROFILE, "", classifiers},
    {RENDER_ONCE, "]},'scheduler-policies':{'scheduler-policy':[", NULL},
    {RENDER_EACH_PROFILE,
     ",{'name':'duopoly-$profile','config':{'name':'duopoly-$profile'},"
     "'schedulers':{'scheduler':[",
     schedulers},
    {RENDER_ONCE, "]},'interfaces':{'interface':[", NULL},
    {RENDER_EACH_PORT,
     ",{'interface-id':'$port','config':{'interface-id':'$port'},"
     "'interface-ref':{'config':{'interface':'$port'}},"
     "'input':{'classifiers':{'classifier':["
     "{'type':'IPV4','config':{'type':'IPV4','name':'duopoly-ipv4$profile'}},"
     "{'type':'IPV6','config':{'type':'IPV6','name':'duopoly-ipv6$profile'}}]}},"
     "'output':{'queues':{'queue':[",
     interface_parts},
    {RENDER_ONCE, "]}", NULL},
    {RENDER_IF_SWITCH_ECN, ",'queue-management-profiles':{'queue-management-profile':[",
     management},
    {RENDER_ONCE, "}}", NULL},
    {0},
};

static int openconfig_render(const struct render_switch *sw, FILE *out, struct err *err)
{
    return render_json(sw, set_parts, out, err);
}

/* Rows that refer to others go first. */
static const struct render_part undo_ecn[] = {
    {RENDER_IF_ECN,
     ",'/qos/queue-management-profiles/queue-management-profile[name=duopoly-ecn$profile-$queue]'",
     NULL},
    {0},
};
static const struct render_part undo_profile[] = {{RENDER_EACH_QUEUE, "", undo_ecn}, {0}};
static const struct render_part undo_parts[] = {
    {RENDER_ONCE, "{'delete':[", NULL},
    {RENDER_EACH_PORT, ",'/qos/interfaces/interface[interface-id=$port]'", NULL},
    {RENDER_EACH_PROFILE,
     ",'/qos/scheduler-policies/scheduler-policy[name=duopoly-$profile]',"
     "'/qos/classifiers/classifier[name=duopoly-ipv4$profile]',"
     "'/qos/classifiers/classifier[name=duopoly-ipv6$profile]'",
     undo_profile},
    {RENDER_EACH_OWN_QUEUE,
     ",'/qos/forwarding-groups/forwarding-group[name=duopoly-q$queue]',"
     "'/qos/queues/queue[name=duopoly-q$queue]'",
     NULL},
    {RENDER_ONCE, "]}", NULL},
    {0},
};

static int openconfig_undo(const struct render_switch *sw, FILE *out, struct err *err)
{
    return render_json(sw, undo_parts, out, err);
}

const struct renderer render_openconfig = {
    .name = "openconfig",
    .what = "OpenConfig QoS as JSON; the undo as gNMI paths to delete",
    .abilities = {.strict = true, .ecn = true, .hardware = true},
    .render = openconfig_render,
    .undo = openconfig_undo};
