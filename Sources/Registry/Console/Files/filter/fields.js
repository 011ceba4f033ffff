// The fields of filters. The service's list is AudienceField.swift, and a test holds this one to it.
//
// `kind` decides which operators a field has and how a value is typed; see `operatorsOf`.

const settings = ['notSupported', 'disabled', 'enabled', 'unknown'];

const kinds = {
  systemName: 'text', osVersion: 'version', deviceModel: 'text', appVersion: 'version', provider: 'choice',
  locale: 'locale', language: 'text', region: 'text', timeZone: 'timeZone', utcOffset: 'offset', localTime: 'localTime',
  location: 'location', topic: 'topic', lastSeenAt: 'time', createdAt: 'time', userId: 'user', carrier: 'text',
  appStore: 'text', authorizationStatus: 'choice', soundSetting: 'choice', badgeSetting: 'choice',
  alertSetting: 'choice', notificationCenterSetting: 'choice', lockScreenSetting: 'choice', carPlaySetting: 'choice',
  criticalAlertSetting: 'choice', announcementSetting: 'choice', alertStyle: 'choice', showPreviewsSetting: 'choice',
  providesAppNotificationSettings: 'flag', addressKind: 'choice',
};

const choices = {
  provider: ['apns', 'apnsSandbox', 'fcm', 'huawei', 'webPush'],
  addressKind: ['fid', 'token', 'subscription'],
  authorizationStatus: ['notDetermined', 'denied', 'authorized', 'provisional', 'ephemeral', 'unknown'],
  alertStyle: ['none', 'banner', 'alert', 'unknown'],
  showPreviewsSetting: ['always', 'whenAuthenticated', 'never', 'unknown'],
};

/** The fields under their headings in the builder's list. */
export const fieldGroups = {
  device: ['systemName', 'osVersion', 'deviceModel', 'appVersion', 'provider', 'addressKind', 'carrier', 'appStore'],
  place: ['locale', 'language', 'region', 'timeZone', 'utcOffset', 'localTime', 'location'],
  person: ['topic', 'userId', 'lastSeenAt', 'createdAt'],
  permission: [
    'authorizationStatus', 'soundSetting', 'badgeSetting', 'alertSetting', 'alertStyle', 'showPreviewsSetting',
    'notificationCenterSetting', 'lockScreenSetting', 'carPlaySetting', 'criticalAlertSetting', 'announcementSetting',
    'providesAppNotificationSettings',
  ],
};

export const fieldNames = Object.keys(kinds);

/** Undefined for a name that is no field. */
export function kindOf(field) {
  return Object.hasOwn(kinds, field) ? kinds[field] : undefined;
}

/** The closed list of a field's values; null if it has none. */
export function choicesOf(field) {
  return kinds[field] === 'choice' ? choices[field] ?? settings : null;
}

const equality = ['is', 'isNot'];
const order = ['gte', 'gt', 'lte', 'lt'];
const existence = ['known', 'unknown'];

/** The operators of a row: `is` and `isNot` have one value or several, the others are the API's. */
export function operatorsOf(field) {
  switch (kinds[field]) {
    case 'version': case 'offset': return [...equality, ...order, ...existence];
    case 'time': return ['within', ...order, ...equality, ...existence];
    case 'user': return [...existence, ...equality];
    case 'localTime': return ['between'];
    case 'location': return ['near', ...existence];
    case 'topic': return equality;
    default: return [...equality, ...existence];
  }
}

/** Whether a breakdown accepts the field. */
export function isDiscrete(field) {
  return !['time', 'user', 'localTime', 'location'].includes(kinds[field]);
}

/** Whether counts by the field come from the roll-up: they are fast however large the fleet. */
export function isRolledUp(field) {
  return rolledUp.has(field);
}
const rolledUp = new Set([
  'provider', 'locale', 'timeZone', 'utcOffset', 'localTime', 'systemName', 'osVersion', 'authorizationStatus',
]);
