document.body.append("push-registry");
